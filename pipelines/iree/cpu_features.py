"""What a CPU must have to run what IREE compiles for it."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Sequence

from unmess.core.error import Error
from unmess.core.processor import FEATURES, processor_features

_CPU = "--iree-llvmcpu-target-cpu="
_PROGRAM = b"""
func.func @add(%a: tensor<4xf32>) -> tensor<4xf32> {
  %b = arith.addf %a, %a : tensor<4xf32>
  return %b : tensor<4xf32>
}
\0"""
# The first phase after which it is in the IR.
_PHASE = b"executable-sources"


def required_cpu(options: Sequence[str]) -> tuple[str, frozenset[str]] | None:
    """Architecture and features of the CPU that options are for; LLVM's names, of `FEATURES` only.

    The compiler is asked: it says in the IR of any program what it has resolved `host`, or the
    name of a CPU, to.

    Returns:
        None, where no code for a CPU is made.

    Raises:
        RuntimeError: IREE compiles nothing with these options.
    """
    if not any("llvm-cpu" in option for option in options):
        return None
    # It loads the compiler into this process: 70 MB.
    from iree.compiler.api import Output, Session, Source, ctypes_dl

    with Session() as session:
        session.set_flags(*options)
        invocation = session.invocation()
        source = Source.wrap_buffer(session, _PROGRAM)
        ctypes_dl._dylib.ireeCompilerInvocationSetCompileToPhase(
            ctypes.c_void_p(invocation._inv_p), _PHASE
        )
        if not (invocation.parse_source(source) and invocation.execute()):
            raise RuntimeError("IREE does not compile an addition")
        with Output.open_membuffer() as output:
            invocation.output_ir(output)
            text = bytes(output.map_memory()).decode()
    return parse_target(text)


def check_cpu(options: Sequence[str]) -> None:
    """Raises an Error (`load`) where code that options are for would crash on this CPU."""
    if not any(option.startswith(_CPU) and option != f"{_CPU}host" for option in options):
        return
    required, here = required_cpu(options), processor_features()
    lacking = sorted(required[1] - here)
    # A system that does not say what its CPU has is not asked.
    if lacking and here:
        raise Error(
            "load",
            f"the program is compiled for another CPU: this one lacks {', '.join(lacking)}",
            hint="--cpu host, or --cpu generic for any CPU; `unmess package --cpu` is for others",
        )


def parse_target(text: str) -> tuple[str, frozenset[str]]:
    """What `required_cpu` returns, of the IR's text."""
    machine = re.search(r'target_triple = "([^-"]+)', text)[1]
    match = re.search(r'cpu_features = "([^"]*)"', text)
    # The last word on a feature counts.
    # Of `generic` it is empty: the baseline of the architecture.
    words = re.findall(r"[+-][^,]+", match[1]) if match else []
    has = {word[1:]: word[0] == "+" for word in words}
    return machine, frozenset(name for name, on in has.items() if on) & FEATURES
