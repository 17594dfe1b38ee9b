"""Whole numbers beside constants of floating point."""

from __future__ import annotations

import torch
from torch.utils import _pytree as pytree

aten = torch.ops.aten

_ARITHMETIC = frozenset({aten.add, aten.sub, aten.rsub, aten.mul, aten.div})
# Of their operand these ask the shape only.
_BY_SHAPE = frozenset({aten.full_like, aten.zeros_like, aten.ones_like, aten.empty_like})


def write_as_floating_point(graph: torch.fx.Graph) -> int:
    """Makes integers floating-point numbers where the other operand is a constant of that kind.

    What counts as constant is all that is computed from no input, and weights, some of which
    become literals. Returns how many operators were changed.
    """
    constant: set[torch.fx.Node] = set()
    changed = 0
    for node in graph.nodes:
        if node.op == "placeholder":
            if not node.name.startswith("c_"):
                continue
        elif node.op != "call_function" or not (
            _packet(node) in _BY_SHAPE or constant.issuperset(node.all_input_nodes)
        ):
            continue
        constant.add(node)
        if _mixes(node):
            node.args, node.kwargs = pytree.tree_map_only(int, _floating, (node.args, node.kwargs))
            changed += 1
    return changed


def _mixes(node: torch.fx.Node) -> bool:
    if _packet(node) not in _ARITHMETIC:
        return False
    values = [operand.meta.get("val") for operand in node.all_input_nodes]
    floating = all(isinstance(v, torch.Tensor) and v.is_floating_point() for v in values)
    numbers = (*node.args, *node.kwargs.values())
    return floating and any(type(number) is int for number in numbers)


def _packet(node: torch.fx.Node) -> torch._ops.OpOverloadPacket | None:
    return getattr(node.target, "overloadpacket", None)


def _floating(number: int) -> float:
    return number if type(number) is bool else float(number)
