"""Checks indices of StableHLO's gathers and scatters, which StableHLO itself clamps or skips."""

from __future__ import annotations

from torch_mlir import ir
from torch_mlir._mlir_libs import _stablehlo
from torch_mlir.passmanager import PassManager

from pipelines.indices.scatter import check_columns
from pipelines.indices.values import Size, size_of
from pipelines.ir.modules import find_operations
from pipelines.pipeline import Step
from pipelines.stablehlo.origin import is_captured


def check_stablehlo_indices(module: ir.Module) -> None:
    """Adds assertions to captured programs that indices of gathers and scatters are in range.

    Programs of other tools have StableHLO's semantics, and do not change.
    """
    found = find_operations(module, lambda each: each.name in _CHECKS and is_captured(each))
    with module.context:
        for operation in found:
            with ir.InsertionPoint(operation), operation.location:
                _CHECKS[operation.name](operation)
        if found:
            # Merge equal checks.
            PassManager.parse("builtin.module(canonicalize,cse)").run(module.operation)


def _check_gather(gather: ir.Operation) -> None:
    numbers = _stablehlo.GatherDimensionNumbers(gather.attributes["dimension_numbers"])
    lengths = list(ir.DenseI64ArrayAttr(gather.attributes["slice_sizes"]))
    whole = gather.operands[0]
    sizes = [(size_of(whole, axis), lengths[axis]) for axis in numbers.start_index_map]
    check_columns(gather, sizes, _columns(gather, numbers.index_vector_dim))


def _check_scatter(scatter: ir.Operation) -> None:
    numbers = _stablehlo.ScatterDimensionNumbers(scatter.attributes["scatter_dimension_numbers"])
    whole, _, updates = scatter.operands
    batch = list(numbers.input_batching_dims)
    without = {*numbers.inserted_window_dims, *batch}
    window = [axis for axis in range(whole.type.rank) if axis not in without]
    lengths: dict[int, Size] = {
        axis: size_of(updates, place)
        for axis, place in zip(window, numbers.update_window_dims, strict=True)
    }
    sizes = [
        (size_of(whole, axis), lengths.get(axis, 1))
        for axis in numbers.scattered_dims_to_operand_dims
    ]
    check_columns(scatter, sizes, _columns(scatter, numbers.index_vector_dim))


def _columns(operation: ir.Operation, axis: int) -> int | None:
    """Returns the axis of the indices that has the columns; None if there is one column."""
    return axis if axis < operation.operands[1].type.rank else None


_CHECKS = {"stablehlo.gather": _check_gather, "stablehlo.scatter": _check_scatter}


CHECK_STABLEHLO_INDICES = Step(
    "check-stablehlo-indices",
    "check indices of gathers and scatters, which StableHLO clamps",
    check_stablehlo_indices,
)
