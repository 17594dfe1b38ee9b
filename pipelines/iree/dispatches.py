"""Compares the dispatches of a program with those of IREE's interpreter.

IREE divides a program into dispatches, and compiles each of them by itself. The division does not
depend on the target. The interpreter (VMVX) runs the same dispatches without machine code. So the
first dispatch whose results differ between both is the one that is compiled wrong.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch

from pipelines.backends.executable import Executable
from pipelines.iree.backend import Artifact, IreeBackend, Program, artifact_for
from pipelines.iree.compilation import TRACE_DISPATCHES
from pipelines.iree.targets import INTERPRETER, Target, target
from unmess.core.errors.error import Error
from unmess.core.module.module import Module
from unmess.core.options.target_options import TargetOptions
from unmess.core.processes.temporary_folders import temporary_folder

_SOURCES = "--iree-hal-dump-executable-sources-to="
# A key is `main_dispatch_0::main_dispatch_0_matmul_4x16x8_f32 outputs`, or ends in `inputs`.
_FUNCTION, _RESULTS = "::", " outputs"


@dataclass(frozen=True)
class WrongDispatch:
    """The first dispatch whose results differ from those of the interpreter.

    Attributes:
        name: of its function, such as `main_dispatch_0_matmul_4x16x8_f32`.
        difference: the largest difference, relative to the largest value of a result; infinity if
            NaN or infinity is at other places.
        before: the number of dispatches that ran before it.
        ir: its IR, as it is before code is generated; None if the compiler did not write it.
    """

    name: str
    difference: float
    before: int
    ir: str | None

    def __str__(self) -> str:
        how = f"differs by {self.difference:.3g} of the largest value from IREE's interpreter"
        if math.isinf(self.difference):
            how = "NaN or infinity where IREE's interpreter gives another value, or vice versa"
        before = f"{self.before} dispatch{'es' * (self.before != 1)} before it"
        return f"{self.name}: {how} ({before})"


def wrong_dispatch(
    module: Module,
    name: str,
    options: TargetOptions,
    call: Callable[[Executable], Any],
    least: float,
) -> WrongDispatch | None:
    """Runs a program on a target and on the interpreter, and compares the results of dispatches.

    Args:
        module: at any stage up to an output dialect; it is not changed.
        name: of the target, such as `iree-cpu`.
        options: of the target.
        call: calls the program.
        least: the smallest difference that counts, relative to the largest value of a result.

    Returns:
        None if no dispatch differs.

    Raises:
        Error: the target or the interpreter does not compile or run the program, or they divide it
            into different dispatches.
    """
    chosen = target(name, options)
    with temporary_folder() as folder:
        found = _run(module, name, chosen, (TRACE_DISPATCHES, f"{_SOURCES}{folder}"), call)
        interpreter = replace(INTERPRETER, preset=chosen.preset)
        expected = _run(module, name, interpreter, (TRACE_DISPATCHES,), call)
        for before, (one, other) in enumerate(zip(found, expected, strict=False)):
            if one.name != other.name:
                raise Error("compare", f"the interpreter has {other.name} in place of {one.name}")
            difference = max(map(_difference, one.results, other.results), default=0.0)
            if difference > least:
                return WrongDispatch(one.function, difference, before, _source(folder, one))
    return None


@dataclass(frozen=True)
class _Dispatch:
    """A dispatch that ran. `name` is `EXECUTABLE::FUNCTION`."""

    name: str
    results: Sequence[torch.Tensor | None]

    @property
    def function(self) -> str:
        return self.name.partition(_FUNCTION)[2]


@dataclass(frozen=True)
class _TracingBackend:
    """A target of IREE that records the dispatches that run."""

    name: str
    target: Target
    dispatches: list[_Dispatch] = field(default_factory=list)
    input = IreeBackend.input
    numerics = IreeBackend.numerics

    def compile(self, module: Module, folder: Path) -> Artifact:
        """See `Backend.compile`."""
        return artifact_for(module, self.name, self.target)

    def load(self, artifact: Artifact) -> Program:
        """See `Backend.load`."""
        return Program(artifact, self._record)

    def _record(self, key: str, tensors: Sequence[torch.Tensor | None]) -> None:
        name, results, _ = key.partition(_RESULTS)
        if results:
            self.dispatches.append(_Dispatch(name, tensors))


def _run(
    module: Module,
    name: str,
    chosen: Target,
    options: Sequence[str],
    call: Callable[[Executable], Any],
) -> list[_Dispatch]:
    backend = _TracingBackend(name, replace(chosen, options=(*chosen.options, *options)))
    call(Executable(module, backend))
    return backend.dispatches


def _difference(one: torch.Tensor | None, other: torch.Tensor | None) -> float:
    """Returns the largest difference relative to the largest value; infinity for NaN elsewhere."""
    if one is None or other is None or not one.numel():
        return 0.0
    wide = torch.complex128 if one.is_complex() else torch.float64
    one, other = one.to(wide), other.to(wide)
    if one.shape != other.shape or not torch.equal(one.isfinite(), other.isfinite()):
        return math.inf
    finite = one.isfinite()
    if not torch.equal(one[~finite].nan_to_num(), other[~finite].nan_to_num()):
        return math.inf
    if not finite.any():
        return 0.0
    largest = other[finite].abs().max().item()
    difference = (one - other)[finite].abs().max().item()
    if not largest:
        return math.inf if difference else 0.0
    return difference / largest


def _source(folder: str, dispatch: _Dispatch) -> str | None:
    """Returns the IR that the compiler wrote for a dispatch."""
    executable = dispatch.name.partition(_FUNCTION)[0]
    files = sorted(Path(folder).glob(f"*{executable}.mlir"))
    return files[0].read_text() if files else None
