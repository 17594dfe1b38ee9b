"""Finds the nodes of a graph that torch-mlir may fold."""

from __future__ import annotations

import torch

aten = torch.ops.aten

# These use only the shape of their operand.
_BY_SHAPE = frozenset({aten.full_like, aten.zeros_like, aten.ones_like, aten.empty_like})


def constant_nodes(graph: torch.fx.Graph) -> set[torch.fx.Node]:
    """Returns the nodes that depend on no input.

    They include lifted constants, because small ones become literals.
    """
    constant: set[torch.fx.Node] = set()
    for node in graph.nodes:
        if node.op == "placeholder":
            is_constant = node.name.startswith("c_")
        else:
            is_constant = node.op == "call_function" and (
                packet_of(node) in _BY_SHAPE or constant.issuperset(node.all_input_nodes)
            )
        if is_constant:
            constant.add(node)
    return constant


def packet_of(node: torch.fx.Node) -> torch._ops.OpOverloadPacket | None:
    """Returns the operator of a node without its overload; None for other nodes."""
    return getattr(node.target, "overloadpacket", None)
