"""Checks that this CPU has the features that IREE's compiled code needs.

    python -m pipelines.iree.cpu_features OPTION...

prints the features of the CPU that the compiler's options name.
"""

from __future__ import annotations

import ctypes
import re
import sys
from collections.abc import Sequence

from unmess.core.errors.error import Error
from unmess.core.options.processor import FEATURES, processor_features

_CPU = "--iree-llvmcpu-target-cpu="
_PROGRAM = b"""
func.func @add(%a: tensor<4xf32>) -> tensor<4xf32> {
  %b = arith.addf %a, %a : tensor<4xf32>
  return %b : tensor<4xf32>
}
\0"""
# The first phase after which the IR contains the CPU's features.
_PHASE = b"executable-sources"


def required_cpu(options: Sequence[str]) -> tuple[str, frozenset[str]] | None:
    """Returns the architecture and the CPU features, as LLVM names them, that options compile for.

    The compiler resolves `host`, or the name of a CPU, and writes the result into the IR of every
    program. So this compiles a small program and reads its IR.

    Returns:
        The architecture, and those features that are in `FEATURES`; None if the options do not
        compile for a CPU.

    Raises:
        RuntimeError: IREE cannot compile with these options.
    """
    if not any("llvm-cpu" in option for option in options):
        return None
    # Import it here: it loads the compiler into this process (70 MB).
    from iree.compiler.api import Output, Session, Source, ctypes_dl

    with Session() as session:
        session.set_flags(*options)
        invocation = session.invocation()
        source = Source.wrap_buffer(session, _PROGRAM)
        ctypes_dl._dylib.ireeCompilerInvocationSetCompileToPhase(
            ctypes.c_void_p(invocation._inv_p), _PHASE
        )
        if not (invocation.parse_source(source) and invocation.execute()):
            raise RuntimeError("IREE cannot compile an addition")
        with Output.open_membuffer() as output:
            invocation.output_ir(output)
            text = bytes(output.map_memory()).decode()
    return parse_target(text)


def check_cpu(options: Sequence[str]) -> None:
    """Raises an Error (`load`) if code compiled with these options would crash on this CPU."""
    if not any(option.startswith(_CPU) and option != f"{_CPU}host" for option in options):
        return
    required, here = required_cpu(options), processor_features()
    lacking = sorted(required[1] - here)
    # Skip the check if the CPU features are unknown.
    if lacking and here:
        raise Error(
            "load",
            f"the program was compiled for another CPU: this CPU lacks {', '.join(lacking)}",
            hint="use --cpu host, or --cpu generic for any CPU; to compile for another CPU, "
            "use `unmess package --cpu`",
        )


def parse_target(text: str) -> tuple[str, frozenset[str]]:
    """Parses the result of `required_cpu` from the text of the IR."""
    machine = re.search(r'target_triple = "([^-"]+)', text)[1]
    match = re.search(r'cpu_features = "([^"]*)"', text)
    # The last entry for a feature counts. For `generic` the list is empty: the baseline of the
    # architecture.
    words = re.findall(r"[+-][^,]+", match[1]) if match else []
    has = {word[1:]: word[0] == "+" for word in words}
    return machine, frozenset(name for name, on in has.items() if on) & FEATURES


if __name__ == "__main__":
    print(*required_cpu(sys.argv[1:])[1])
