"""Divides the nodes of a graph into levels, and counts their floating-point operations.

`CapabilityBasedPartitioner` of PyTorch tests each pair of partitions for cycles, and knows no order
except that of data. Random operators and those that write memory need such an order, so the nodes
get levels here, in linear time.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from operator import getitem

import torch
from torch.utils import _pytree as pytree
from torch.utils.flop_counter import flop_registry

_RANDOM = torch.Tag.nondeterministic_seeded


def levels_of(
    graph: torch.fx.Graph, outside: Collection[torch.fx.Node]
) -> dict[torch.fx.Node, int]:
    """Returns the level of each node of a graph, except placeholders, attributes and the output.

    The nodes of one level that are not outside form a region. The region runs before the outside
    nodes of its level, and after all nodes of lower levels. Level 0 has every node that can run
    before the first outside operator, level 1 every further node that can run before the second
    one, and so on. No path leaves a region and enters it again.

    Args:
        outside: the nodes that are not compiled. Elements of their results are outside, too.
    """
    levels: dict[torch.fx.Node, int] = {}
    last_effect = 0
    after_write = 0
    highest = 0
    for node in graph.nodes:
        if not is_computed(node):
            continue
        level = after_write
        for operand in node.all_input_nodes:
            if operand in levels:
                crosses = operand in outside and node not in outside
                level = max(level, levels[operand] + crosses)
        if node in outside and has_effect(node):
            # Operators with effects keep their order, also relative to readers of the memory.
            level = max(level, highest if is_mutable(node) else last_effect)
            last_effect = level
            if is_mutable(node):
                after_write = level + 1
        levels[node] = level
        highest = max(highest, level)
    _delay(levels, outside)
    return levels


def _delay(levels: dict[torch.fx.Node, int], outside: Collection[torch.fx.Node]) -> None:
    """Moves nodes to the region that uses them first, if their operands are not larger.

    So a region takes a weight itself, and not a transposed copy from an earlier region.
    """
    for node in reversed(list(levels)):
        # The elements of a tuple must be in the region of the tuple.
        fixed = node in outside or has_effect(node) or node.target is getitem or is_tuple(node)
        used = [levels[user] for user in node.users if user in levels]
        if fixed or not used or len(used) < len(node.users):
            continue
        operands = [operand for operand in node.all_input_nodes if operand in levels]
        if sum(map(elements_of, operands)) <= elements_of(node):
            levels[node] = max(levels[node], min(used))


def is_computed(node: torch.fx.Node) -> bool:
    """Returns whether a node is a call."""
    return node.op not in ("placeholder", "get_attr", "output")


def is_constant(placeholder: torch.fx.Node) -> bool:
    """Returns whether a placeholder always has the same value, and this is not a tensor."""
    value = placeholder.meta.get("val")
    return not isinstance(value, (torch.Tensor, *torch.types.py_sym_types))


def is_mutable(node: torch.fx.Node) -> bool:
    """Returns whether an operator writes to one of its arguments."""
    return isinstance(node.target, torch._ops.OpOverload) and node.target._schema.is_mutable


def has_effect(node: torch.fx.Node) -> bool:
    """Returns whether calls of an operator must keep their order: it writes, or is random."""
    return is_random(node) or is_mutable(node)


def is_random(node: torch.fx.Node) -> bool:
    """Returns whether a call draws random numbers. Attention without dropout does not."""
    if not isinstance(node.target, torch._ops.OpOverload) or _RANDOM not in node.target.tags:
        return False
    for position, argument in enumerate(node.target._schema.arguments):
        if argument.name == "dropout_p":
            given = node.args[position] if position < len(node.args) else argument.default_value
            return node.kwargs.get("dropout_p", given) != 0
    return True


def with_elements(nodes: Iterable[torch.fx.Node]) -> set[torch.fx.Node]:
    """Returns nodes, and the nodes that take elements of their results."""
    found = set(nodes)
    pending = list(found)
    while pending:
        users = [user for user in pending.pop().users if user.target is getitem]
        found.update(users)
        pending += users
    return found


def is_operator(node: torch.fx.Node) -> bool:
    """Returns whether a node calls an operator, and is not an element of a tuple or a size."""
    if not is_computed(node) or node.target is getitem:
        return False
    value = node.meta.get("val")
    return not isinstance(value, torch.types.py_sym_types) or not _is_size(node)


def _is_size(node: torch.fx.Node) -> bool:
    """Returns whether a number is computed from sizes and numbers only."""
    return not isinstance(node.target, torch._ops.OpOverload) or "sym_" in str(node.target)


def is_tuple(node: torch.fx.Node) -> bool:
    """Returns whether the result of a node is a list or a tuple."""
    return isinstance(node.meta.get("val"), (list, tuple))


def tensors_of(node: torch.fx.Node) -> list[torch.Tensor]:
    """Returns the fake tensors among a node's results."""
    leaves = pytree.tree_leaves(node.meta.get("val"))
    return [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]


def elements_of(node: torch.fx.Node) -> int:
    """Returns the number of elements of a node's results, for the sizes of the example."""
    count = 0
    for tensor in tensors_of(node):
        elements = 1
        for size in tensor.shape:
            elements *= as_number(size)
        count += elements
    return count


def as_number(size: int | torch.SymInt) -> int:
    """Returns a size, or its value in the example. A size without one counts as 1."""
    if isinstance(size, int):
        return size
    return 1 if size.node._hint is None else int(size.node._hint)


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
