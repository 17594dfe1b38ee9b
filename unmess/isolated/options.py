"""Options and stages of an isolated check, for both sides."""

from __future__ import annotations

from dataclasses import dataclass

# Until there is a program, what happens is the same for every runner.
SHARED = ("source", "capture")
# The stage whose IR goes into a stage; from these on, there is something to reproduce a crash with.
INPUT = {
    "torch": "raw",
    **dict.fromkeys(("linalg", "tosa", "stablehlo"), "torch"),
    **dict.fromkeys(("compile", "load", "run"), "linalg"),
}


@dataclass(frozen=True)
class Options:
    """How a model is checked.

    Attributes:
        strategy: of the capture.
        inputs: example arguments in place of the model's own, as `--input` takes them.
        dynamic: what is dynamic, as `--dynamic` takes it.
        timeout: seconds for one runner, counted from the end of the one before it. The first one's
            time includes the capture, but not the imports of the parent. None: no limit.
        verbose: let libraries print warnings and logs.
        cpu, preset: that `iree-cpu` compiles for, and with; see `TargetOptions`.
        unchecked: leave out the checks of data when the program runs.
        debug: keep tracebacks, print the Python stack of a crash, verify the IR after each step.
        via: the exit whose IR runs; None for the runner's own way.
        trust: the model's files may run code.
    """

    strategy: str = "auto"
    inputs: tuple[str, ...] = ()
    dynamic: tuple[str, ...] = ()
    timeout: float | None = None
    verbose: bool = False
    debug: bool = False
    cpu: str = "host"
    preset: str | None = None
    unchecked: bool = False
    via: str | None = None
    trust: bool = False
