"""The constant tensors of a graph while it is folded."""

from __future__ import annotations

from collections.abc import Collection

import torch
from torch.export.graph_signature import InputKind

from importers.repairs.constants import constant_placeholder, constant_value

_WEIGHTS = (InputKind.PARAMETER, InputKind.BUFFER, InputKind.CONSTANT_TENSOR)
SUFFIX = "folded"


def named_constants(
    exported: torch.export.ExportedProgram, state: Collection[str]
) -> dict[torch.fx.Node, tuple[str, torch.Tensor]]:
    """Returns the name and the tensor of each placeholder whose value no call changes.

    Args:
        state: the names of the tensors that calls change.
    """
    placeholders = {node.name: node for node in exported.graph.nodes if node.op == "placeholder"}
    found = {}
    for spec in exported.graph_signature.input_specs:
        if spec.kind in _WEIGHTS and spec.target not in state:
            tensor = exported.state_dict.get(spec.target)
            tensor = exported.constants[spec.target] if tensor is None else tensor
            found[placeholders[spec.arg.name]] = spec.target, tensor
    for node in placeholders.values():
        if (added := constant_value(node)) is not None:
            found[node] = added
    return found


def add_constant(graph: torch.fx.Graph, name: str, tensor: torch.Tensor) -> torch.fx.Node:
    """Returns a new placeholder for a folded tensor. A number makes its name unique."""
    taken = {added[0] for node in graph.nodes if (added := constant_value(node)) is not None}
    unique, number = name, 1
    while unique in taken:
        unique, number = f"{name}_{number}", number + 1
    return constant_placeholder(graph, unique, lambda: tensor, InputKind.BUFFER)
