"""IREE's compiler through its C interface, in process, with its diagnostics as errors."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Sequence
from dataclasses import dataclass

from iree.compiler.api import Output, Session, Source, ctypes_dl

from pipelines.pipeline import brief
from unmess.core.cache import write_reproducer
from unmess.core.error import Error
from unmess.core.user_source import is_users

# void (*)(severity, message, message size, user data)
_DIAGNOSTIC = ctypes.CFUNCTYPE(
    None, ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p
)
_ERROR_SEVERITY = 2
# IREE spells a diagnostic as `file:line:column: message`.
_PLACE = re.compile(r"([^:\n]+):(\d+):\d+: ")


@dataclass(frozen=True)
class _Diagnostic:
    severity: int
    text: str


def compile_module(text: str, options: Sequence[str], name: str) -> bytes:
    """Compiles IR to a VM module.

    Args:
        text: the IR, with locations, so that an error finds the user's source line.
        options: of `iree-compile`.
        name: of the model, for the reproducer.

    Raises:
        Error: stage `compile`, with the first error diagnostic and a reproducer.
    """
    diagnostics: list[_Diagnostic] = []

    def record(severity, message, size, _user_data):
        text = ctypes.string_at(message, size).decode(errors="replace")
        diagnostics.append(_Diagnostic(severity, text))

    callback = _DIAGNOSTIC(record)
    with Session() as session:
        session.set_flags(*options)
        invocation = session.invocation()
        ctypes_dl._dylib.ireeCompilerInvocationEnableCallbackDiagnostics(
            ctypes.c_void_p(invocation._inv_p), 0, callback, None
        )
        source = Source.wrap_buffer(session, text.encode() + b"\0")
        if not (invocation.parse_source(source) and invocation.execute()):
            raise _failed(diagnostics, text, options, name)
        with Output.open_membuffer() as output:
            invocation.output_vm_bytecode(output)
            return bytes(output.map_memory())


def _failed(diagnostics: list[_Diagnostic], text: str, options: Sequence[str], name: str) -> Error:
    errors = [d.text for d in diagnostics if d.severity >= _ERROR_SEVERITY] or ["no diagnostic"]
    # The error first, then the frames that called it.
    places = [_PLACE.match(d.text) for d in diagnostics]
    lines = [f"{p[1]}:{p[2]}" for p in places if p and is_users(p[1])]
    cause = brief(_PLACE.sub("", errors[0]))
    command = f"iree-compile {' '.join(options)} THIS_FILE -o /dev/null"
    return Error(
        "compile",
        f"IREE does not compile the module: {cause}",
        where=lines[0] if lines else None,
        hint="the linalg form is fine; try --on reference, or report the reproducer to IREE",
        repro=write_reproducer(f"// {command}\n{text}", f"{name}-iree"),
    )
