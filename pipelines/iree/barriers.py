"""Keeps IREE from fusing operations, where it would compile both together to slow code."""

from __future__ import annotations

from torch_mlir import ir

from pipelines.ir.modules import build_op


def barrier(value: ir.Value) -> ir.Value:
    """Returns a tensor behind a barrier: its users are not fused with its operation.

    Returns a tensor of dynamic size itself, because IREE does not compile a barrier of it
    ("'tensor.dim' op unexpected during shape cleanup").
    """
    if not ir.RankedTensorType(value.type).has_static_shape:
        return value
    return build_op("util.optimization_barrier", value.type, value)
