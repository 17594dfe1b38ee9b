"""Every pipeline of the project by name, for `unmess-opt`."""

from __future__ import annotations

from collections.abc import Callable

from torch_mlir import ir

from pipelines import stages
from pipelines.pipeline import Pipeline
from pipelines.reference import lowering
from pipelines.reference.assertions import Assertions
from pipelines.reference.outlining import outline

_PIPELINES: tuple[Pipeline, ...] = (
    stages.TORCH,
    stages.LINALG,
    stages.TOSA,
    stages.STABLEHLO,
    lowering.PREPARE,
    lowering.BUFFERIZE,
    lowering.LLVM,
)


def _reference(module: ir.Module) -> None:
    lowering.lower_to_llvm(module, "module", Assertions())


# Name to what it does to a module, in place.
PIPELINES: dict[str, Callable[[ir.Module], None]] = {
    **{pipeline.name: pipeline.apply for pipeline in _PIPELINES},
    "reference-unaliased": lowering.mark_unaliased,
    "reference-protect": lowering.protect_arguments,
    "reference-outline": outline,
    "reference": _reference,
}
