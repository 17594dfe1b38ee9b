"""Whole numbers beside constants of floating point."""

from __future__ import annotations

import torch

aten = torch.ops.aten

_ARITHMETIC = frozenset(
    {
        *(aten.add, aten.sub, aten.rsub, aten.mul, aten.div),
        *(aten.eq, aten.ne, aten.lt, aten.le, aten.gt, aten.ge),
    }
)


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
        elif node.op != "call_function" or not constant.issuperset(node.all_input_nodes):
            continue
        constant.add(node)
        if _mixes(node):
            node.args = tuple(float(a) if type(a) is int else a for a in node.args)
            changed += 1
    return changed


def _mixes(node: torch.fx.Node) -> bool:
    if getattr(node.target, "overloadpacket", None) not in _ARITHMETIC:
        return False
    values = [operand.meta.get("val") for operand in node.all_input_nodes]
    floating = all(isinstance(v, torch.Tensor) and v.is_floating_point() for v in values)
    return floating and any(type(argument) is int for argument in node.args)
