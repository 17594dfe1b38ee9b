"""Keeps torch-mlir from folding operations on literals to wrong results."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils import _pytree as pytree

from importers.decompositions.numbers import as_tensor
from importers.repairs.retrace import replace_calls

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


def prevent_folding_of_quotients(graph: torch.fx.Graph) -> int:
    """Replaces constant dividends `x` by `x | x`; returns how many.

    torch-mlir lowers `x | x` and does not fold it, so the division reaches linalg.
    """
    constant = constant_nodes(graph)
    found = [node for node in constant if _divides_integers(node)]
    for node in found:
        dividend = node.args[0]
        with graph.inserting_before(node):
            same = graph.call_function(aten.bitwise_or.Tensor, (dividend, dividend))
        same.meta = {**node.meta, "val": dividend.meta["val"]}
        node.args = (same, *node.args[1:])
    return len(found)


def _divides_integers(node: torch.fx.Node) -> bool:
    value = node.meta.get("val")
    return (
        packet_of(node) in (aten.div, aten.floor_divide)
        and isinstance(value, torch.Tensor)
        and not value.is_floating_point()
    )


def add_booleans(graph: torch.fx.Graph) -> int:
    """Replaces `x + y` by `logical_or(x, y)` if the result is boolean; returns how many."""
    nodes = [
        node
        for node in graph.nodes
        if packet_of(node) is torch.ops.aten.add
        and isinstance(node.meta.get("val"), torch.Tensor)
        and node.meta["val"].dtype == torch.bool
    ]
    return replace_calls(graph, nodes, lambda _: _either)


def _either(x: Any, y: Any, alpha: Any = 1) -> torch.Tensor:
    x, y = as_tensor(x, torch.bool), as_tensor(y, torch.bool)
    return torch.logical_or(x, y) if alpha else torch.logical_or(x, torch.zeros_like(y))


_ARITHMETIC = frozenset({aten.add, aten.sub, aten.rsub, aten.mul, aten.div})


def convert_integers_to_floats(graph: torch.fx.Graph) -> int:
    """Converts int operands to floats where the other operand is a floating-point constant.

    Returns the number of operators that it changed.
    """
    found = [node for node in constant_nodes(graph) if _mixes(node)]
    for node in found:
        node.args, node.kwargs = pytree.tree_map_only(int, _floating, (node.args, node.kwargs))
    return len(found)


def _mixes(node: torch.fx.Node) -> bool:
    if packet_of(node) not in _ARITHMETIC:
        return False
    values = [operand.meta.get("val") for operand in node.all_input_nodes]
    floating = all(isinstance(v, torch.Tensor) and v.is_floating_point() for v in values)
    numbers = (*node.args, *node.kwargs.values())
    return floating and any(type(number) is int for number in numbers)


def _floating(number: int) -> float:
    return number if type(number) is bool else float(number)
