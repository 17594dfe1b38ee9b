"""A process of its own that runs IREE's compiler: it may crash, and its memory goes with it.

    python -m pipelines.iree.compilation DIAGNOSTICS OPTION...

The IR comes on stdin, the VM module goes to stdout, and the diagnostics as lines of JSON, each a
severity and a text, to the file descriptor DIAGNOSTICS. The exit status is 1 where the IR does not
compile, 2 where the options are refused.
"""

from __future__ import annotations

import ctypes
import importlib.util
import json
import os
import sys
import types

from unmess.core.processes import end_with_parent

# void (*)(severity, message, message size, user data)
_DIAGNOSTIC = ctypes.CFUNCTYPE(
    None, ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p
)
ERROR = 2
NOT_COMPILED, REFUSED = 1, 2


def main() -> None:
    """Compiles what comes on stdin, as the command line says."""
    end_with_parent()
    descriptor, options = int(sys.argv[1]), sys.argv[2:]
    # What native code prints must not get into the module.
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    _import_interface_alone()
    from iree.compiler.api import Output, Session, Source, ctypes_dl

    with open(descriptor, "w", buffering=1) as diagnostics, Session() as session:

        def record(severity, message, size, _user_data):
            text = ctypes.string_at(message, size).decode(errors="replace")
            print(json.dumps((severity, text)), file=diagnostics)

        try:
            session.set_flags(*options)
        except (RuntimeError, ValueError) as problem:
            print(json.dumps((ERROR, str(problem))), file=diagnostics)
            sys.exit(REFUSED)
        invocation = session.invocation()
        callback = _DIAGNOSTIC(record)
        ctypes_dl._dylib.ireeCompilerInvocationEnableCallbackDiagnostics(
            ctypes.c_void_p(invocation._inv_p), 0, callback, None
        )
        source = Source.wrap_buffer(session, sys.stdin.buffer.read() + b"\0")
        if not (invocation.parse_source(source) and invocation.execute()):
            diagnostics.flush()
            os._exit(NOT_COMPILED)
        with Output.open_membuffer() as output:
            invocation.output_vm_bytecode(output)
            out.write(output.map_memory())
            out.flush()
    # What is left is to free memory, which the end of the process does at once.
    os._exit(0)


def _import_interface_alone() -> None:
    """Lets `iree.compiler.api` be imported without its package's bindings, which need NumPy.

    They are not used here, and are most of what starting this process would take.
    """
    package = types.ModuleType("iree.compiler")
    folders = importlib.util.find_spec("iree").submodule_search_locations
    package.__path__ = [os.path.join(folder, "compiler") for folder in folders]
    sys.modules["iree.compiler"] = package


if __name__ == "__main__":
    main()
