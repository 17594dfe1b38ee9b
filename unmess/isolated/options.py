"""Options and stages of an isolated check, for both of its processes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from unmess.core.errors.stages import OUTPUT_DIALECTS

# Stages before there is a program. They are the same for every runner.
SHARED = ("source", "capture")
# Stages whose crashes can be reproduced, and the stages of their input IR.
INPUT = {
    "torch": "raw",
    **dict.fromkeys(OUTPUT_DIALECTS, "torch"),
    **dict.fromkeys(("compile", "load", "run"), "linalg"),
}

# The options that `unmess.captured.captured` takes.
_OF_CAPTURE = ("inputs", "dynamic", "strategy", "trust", "only", "quantize", "integer", "calibrate")

# A runner, and the output dialect whose IR it runs; None for the runner's default.
Place = tuple[str, str | None]


@dataclass(frozen=True)
class Options:
    """How a model is checked.

    Attributes:
        strategy: strategy of the capture.
        only: the module of the model to check; None for the model.
        quantize, integer, calibrate: as for `unmess.captured.captured`.
        inputs: example arguments in place of the model's own, as `--input` takes them.
        dynamic: dynamic dimensions, as `--dynamic` takes them.
        timeout: seconds for one runner, counted from the end of the previous one. The time of the
            first includes the capture, but not the imports of the parent. None: no limit.
        memory_mb: memory that the worker may allocate, in 10**6 bytes. None: no limit.
        verbose: let libraries print warnings and logs.
        cpu, preset: options of `iree-cpu`; see `TargetOptions`.
        unchecked: leave out the checks of data when the program runs.
        debug: keep tracebacks, print the Python stack of a crash, verify the IR after each step.
        via: the output dialect whose IR runs, if a runner is given without one; None for the
            runner's default.
        trust: let the model's files run code.
        list_operators: whether rows list the operators of the captured graph.
        fallback, allow_ops, deny_ops: as for `unmess.load`.
    """

    strategy: str = "auto"
    inputs: tuple[str, ...] = ()
    dynamic: tuple[str, ...] = ()
    timeout: float | None = None
    memory_mb: float | None = None
    verbose: bool = False
    debug: bool = False
    cpu: str = "host"
    preset: str | None = None
    unchecked: bool = False
    via: str | None = None
    trust: bool = False
    fallback: str | None = None
    allow_ops: tuple[str, ...] = ()
    deny_ops: tuple[str, ...] = ()
    only: str | None = None
    quantize: str | None = None
    integer: bool = False
    calibrate: tuple[str, ...] = ()
    list_operators: bool = False

    def of_capture(self) -> dict[str, Any]:
        """Returns the arguments of `unmess.captured.captured`, by name."""
        return {name: getattr(self, name) for name in _OF_CAPTURE}
