"""Runs IREE's compiler in a separate process, which contains crashes and frees its memory.

    python -m pipelines.iree.compilation DIAGNOSTICS OPTION...

It reads IR from stdin and writes the VM module to stdout. It writes the diagnostics to the file
descriptor DIAGNOSTICS as lines of JSON, each a severity and a text. The exit status is 1 if the IR
does not compile, 2 if the compiler rejects the options.
"""

from __future__ import annotations

import ctypes
import importlib.util
import json
import os
import sys
import types

from unmess.core.processes.children import end_with_parent

# void (*)(severity, message, message size, user data)
_DIAGNOSTIC = ctypes.CFUNCTYPE(
    None, ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p
)
ERROR = 2
# Makes the program report the operands and results of each dispatch. The compiler accepts this
# option per process, not per session.
TRACE_DISPATCHES = "--iree-flow-trace-dispatch-tensors"
NOT_COMPILED, REFUSED = 1, 2


def main() -> None:
    """Compiles the IR from stdin with the options of the command line."""
    end_with_parent()
    descriptor, options = int(sys.argv[1]), sys.argv[2:]
    of_process = [option for option in options if option == TRACE_DISPATCHES]
    # Native code prints to stdout, too: keep that out of the module.
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    _import_interface_alone()
    from iree.compiler.api import Output, Session, Source, ctypes_dl

    if of_process:
        ctypes_dl._initializeGlobalCL("iree-compile", *of_process)
    with open(descriptor, "w", buffering=1) as diagnostics, Session() as session:

        def record(severity, message, size, _user_data):
            text = ctypes.string_at(message, size).decode(errors="replace")
            print(json.dumps((severity, text)), file=diagnostics)

        try:
            session.set_flags(*(option for option in options if option not in of_process))
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
    # Skip the cleanup: the end of the process frees the memory faster.
    os._exit(0)


def _import_interface_alone() -> None:
    """Makes `iree.compiler.api` importable without the bindings of its package.

    The bindings need NumPy and are not used here. Importing them would take most of the start-up
    time of this process.
    """
    package = types.ModuleType("iree.compiler")
    folders = importlib.util.find_spec("iree").submodule_search_locations
    package.__path__ = [os.path.join(folder, "compiler") for folder in folders]
    sys.modules["iree.compiler"] = package


if __name__ == "__main__":
    main()
