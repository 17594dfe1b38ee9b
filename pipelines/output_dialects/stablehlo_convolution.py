"""Converts convolutions to the only layout that StableHLO lowers to `linalg.conv`.

PyTorch's layout is NCHW. `stablehlo-legalize-to-linalg` requires NHWC with an HWIO kernel. It
lowers other layouts to a nest of many loops, or fails if a size is dynamic.
"""

from __future__ import annotations

from collections.abc import Sequence

from torch_mlir import ir
from torch_mlir._mlir_libs import _stablehlo as stablehlo_d

from pipelines.ir.modules import build_op, find_operations, replace_operations
from pipelines.ir.tensor_ops import permuted


def to_canonical_layout(module: ir.Module) -> None:
    """Transposes operands and results of convolutions to NHWC, with HWIO kernels."""
    with module.context:
        found = find_operations(module, lambda each: each.name == "stablehlo.convolution")
        replace_operations(found, _in_canonical_layout)


def _in_canonical_layout(convolution: ir.Operation) -> ir.Value | None:
    numbers = stablehlo_d.ConvDimensionNumbers(convolution.attributes["dimension_numbers"])
    operand = [
        numbers.input_batch_dimension,
        *numbers.input_spatial_dimensions,
        numbers.input_feature_dimension,
    ]
    kernel = [
        *numbers.kernel_spatial_dimensions,
        numbers.kernel_input_feature_dimension,
        numbers.kernel_output_feature_dimension,
    ]
    result = [
        numbers.output_batch_dimension,
        *numbers.output_spatial_dimensions,
        numbers.output_feature_dimension,
    ]
    rank = len(operand)
    if all(order == list(range(rank)) for order in (operand, kernel, result)):
        return None
    space = list(range(rank - 2))
    at = [axis + 1 for axis in space]
    canonical = stablehlo_d.ConvDimensionNumbers.get(
        0, rank - 1, at, rank - 2, rank - 1, space, 0, rank - 1, at
    )
    own = build_op(
        "stablehlo.convolution",
        permuted(convolution.results[0].type, result),
        _transposed(convolution.operands[0], operand),
        _transposed(convolution.operands[1], kernel),
        **{**dict(convolution.attributes.items()), "dimension_numbers": canonical},
    )
    return _transposed(own, [result.index(axis) for axis in range(rank)])


def _transposed(value: ir.Value, order: Sequence[int]) -> ir.Value:
    permutation = ir.DenseI64ArrayAttr.get(order)
    return build_op(
        "stablehlo.transpose", permuted(value.type, order), value, permutation=permutation
    )
