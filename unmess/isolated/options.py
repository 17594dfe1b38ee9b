"""What both sides of an isolated check know."""

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
        timeout: seconds for one runner, counted from the end of the one before it; for the first,
            the start of the process and the capture are included. None: no limit.
        verbose: let libraries print warnings and logs.
        cpu, preset: that `iree-cpu` compiles for, and with; see `TargetOptions`.
        debug: keep tracebacks, print the Python stack of a crash, verify the IR after each step.
        via: the exit whose IR runs; None for the runner's own way.
        forked: the process is a fork of this one, with what it has imported; see `process.fork`.
    """

    strategy: str = "auto"
    inputs: tuple[str, ...] = ()
    dynamic: tuple[str, ...] = ()
    timeout: float | None = None
    verbose: bool = False
    debug: bool = False
    forked: bool = False
    cpu: str = "host"
    preset: str | None = None
    via: str | None = None
