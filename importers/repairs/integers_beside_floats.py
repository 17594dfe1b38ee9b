"""Converts Python ints in arithmetic with floating-point constants to floats."""

from __future__ import annotations

import torch
from torch.utils import _pytree as pytree

from importers.repairs.literals import constant_nodes, packet_of

aten = torch.ops.aten

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
