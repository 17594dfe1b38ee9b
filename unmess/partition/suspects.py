"""Finds the operators that may have caused an error."""

from __future__ import annotations

import re
from collections.abc import Iterable

import torch

from unmess.core.errors.error import Error, message_of
from unmess.core.errors.user_source import node_line
from unmess.partition.levels import is_operator


def suspects_of(error: Error, nodes: Iterable[torch.fx.Node]) -> list[list[torch.fx.Node]]:
    """Returns groups of nodes that may have caused an error, the likeliest group first.

    The last group has all operators.
    """
    nodes = [node for node in nodes if is_operator(node)]
    text = f"{error.cause}\n{message_of(error.__cause__)}".replace("::", ".")
    named = [node for node in nodes if _is_named(node, text)]
    placed = [node for node in nodes if error.where and node_line(node) == error.where]
    both = [node for node in named if node in placed]
    groups = []
    for group in (both, named, placed, nodes):
        if group and group not in groups:
            groups.append(group)
    return groups


def _is_named(node: torch.fx.Node, text: str) -> bool:
    return any(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) for name in _names(node.target))


def _names(target: object) -> list[str]:
    """Returns the names that messages of PyTorch and of MLIR have for an operator."""
    if isinstance(target, torch._ops.OpOverload):
        return [target._schema.name.replace("::", ".")]
    name = getattr(target, "__name__", None)
    return [name] if isinstance(name, str) and len(name) > 3 else []


def operator_name(node: torch.fx.Node) -> str:
    """Returns PyTorch's name of a node's operator, such as `aten.add.Tensor`."""
    if isinstance(node.target, torch._ops.OpOverload):
        return str(node.target)
    return getattr(node.target, "__name__", str(node.target))
