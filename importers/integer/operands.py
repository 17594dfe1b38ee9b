"""Reads the nodes of a graph: their arguments by name, their kind, and their layer."""

from __future__ import annotations

from typing import Any

import torch
from torch.fx import Node

from unmess.core.ir.layer import node_layer


def arguments_of(node: Node) -> dict[str, Any]:
    """Returns all arguments of an operator by name, those with default values included."""
    arguments = node.target._schema.arguments
    names = [each.name for each in arguments]
    defaults = {each.name: each.default_value for each in arguments}
    return defaults | dict(zip(names, node.args, strict=False)) | node.kwargs


# Pointwise operators that PyTorch does not tag so.
_POINTWISE = (torch.ops.aten.hardswish.default,)


def is_pointwise(node: Node) -> bool:
    """Returns whether each element of the result is a function of that of the operands."""
    return (
        node.op == "call_function"
        and isinstance(node.target, torch._ops.OpOverload)
        and (torch.Tag.pointwise in node.target.tags or node.target in _POINTWISE)
        and torch.Tag.nondeterministic_seeded not in node.target.tags
    )


def layer_of(node: Node) -> str | None:
    """Returns the name of the model's module that calls an operator, such as `layer1.0.conv1`."""
    layer = node_layer(node)
    return None if layer is None else layer.path


def all_axes(values: Any, count: int) -> list[Any]:
    """Returns a list with an option of each axis, from a list or from one value for all."""
    values = list(values) if isinstance(values, (list, tuple)) else [values]
    return values * count if len(values) == 1 else values
