"""Converts operands of elementwise operators to the dtype in which eager computes."""

from __future__ import annotations

from typing import Any

import torch

from importers.decompositions.common_dtype import Conversion, conversion_of
from importers.repairs.retrace import replace_calls


def convert_to_common_dtype(graph: torch.fx.Graph) -> int:
    """Converts operands that do not fit the common dtype; returns the number of operators."""
    nodes = [node for node in graph.nodes if _conversion(node)]
    return replace_calls(graph, nodes, _converted)


def _converted(node: torch.fx.Node):
    conversion = _conversion(node)
    result = node.meta["val"].dtype

    def call(*args: Any, **kwargs: Any) -> torch.Tensor:
        return node.target(*conversion.apply(args), **kwargs).to(result)

    return call


def _conversion(node: torch.fx.Node) -> Conversion | None:
    values = [
        argument.meta.get("val") if isinstance(argument, torch.fx.Node) else argument
        for argument in node.args
    ]
    conversion = conversion_of(node.target, values)
    if conversion is None or all(map(_has_dimensions, values)):
        # torch-mlir converts operands with dimensions as eager does.
        return None
    if conversion.dtype.is_floating_point:
        return conversion
    # An operator that computes integers in floating point reads the operands' own values.
    return None if node.meta["val"].dtype.is_floating_point else conversion


def _has_dimensions(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.dim() > 0
