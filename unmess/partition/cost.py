"""Counts the floating-point operations of graph nodes."""

from __future__ import annotations

import torch
from torch.utils import _pytree as pytree
from torch.utils.flop_counter import flop_registry

from unmess.partition.levels import as_number, elements_of, is_operator


def is_heavy(node: torch.fx.Node) -> bool:
    """Returns whether a node is a matrix product, a convolution or an attention."""
    return getattr(node.target, "overloadpacket", None) in flop_registry


def is_view(node: torch.fx.Node) -> bool:
    """Returns whether a node only reads its operand in another shape."""
    return getattr(node.target, "is_view", False)


def flops_of(node: torch.fx.Node) -> int:
    """Returns the number of floating-point operations of a call.

    Matrix products, convolutions and attentions are counted by PyTorch's formulas. Other operators
    count one for each element of their results, and views none. Dynamic sizes are those of the
    example.
    """
    if not is_operator(node) or is_view(node):
        return 0
    values = pytree.tree_map_only(torch.fx.Node, lambda n: n.meta.get("val"), node.args)
    named = pytree.tree_map_only(torch.fx.Node, lambda n: n.meta.get("val"), node.kwargs)
    if is_heavy(node):
        formula = flop_registry[node.target.overloadpacket]
        try:
            return as_number(formula(*values, **named, out_val=node.meta.get("val")))
        except (TypeError, ValueError, AssertionError, IndexError):
            # The formulas do not take all forms of an operator. Then count the elements.
            pass
    return elements_of(node)
