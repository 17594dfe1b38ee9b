"""Reshapes between shapes of which several sizes are only known when the program runs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import sympy
import torch
from torch._guards import detect_fake_mode

_VIEWS = (torch.ops.aten.view.default, torch.ops.aten._unsafe_view.default)
_FLATTEN = torch.ops.aten.flatten.using_ints
_UNFLATTEN = torch.ops.aten.unflatten.int
# What the nodes that take a reshape apart take over from it.
_ORIGIN = ("stack_trace", "nn_module_stack", "source_fn_stack", "torch_fn")


@dataclass(frozen=True)
class Group:
    """Neighbouring dimensions of the operand that become neighbouring ones of the result.

    `before` and `after` are half-open ranges of dimensions; both hold the same number of elements.
    """

    before: tuple[int, int]
    after: tuple[int, int]


def group_dimensions(before: Sequence[sympy.Expr], after: Sequence[sympy.Expr]) -> list[Group]:
    """The finest groups of dimensions in which a reshape from `before` to `after` falls apart.

    Two products of sizes are equal where they are so for all values of their symbols. What cannot
    be told apart is one group, so that the groups are right whatever the symbols are.

    Args:
        before, after: sizes, each at least one dimension, of the same number of elements.
    """
    groups: list[Group] = []
    i = j = 0
    while i < len(before) and j < len(after):
        first_i, first_j = i, j
        i, j = i + 1, j + 1
        ratio = sympy.cancel(before[first_i] / after[first_j])
        while ratio != 1 and (i < len(before) or j < len(after)):
            lacks_input = sympy.denom(ratio) != 1 and i < len(before)
            if lacks_input or j == len(after):
                ratio = sympy.cancel(ratio * before[i])
                i += 1
            else:
                ratio = sympy.cancel(ratio / after[j])
                j += 1
        groups.append(Group((first_i, i), (first_j, j)))
    # What is left has size 1 in all.
    last = groups.pop()
    groups.append(Group((last.before[0], len(before)), (last.after[0], len(after))))
    return groups


def take_apart_symbolic_views(graph: torch.fx.Graph) -> int:
    """Replaces every `view` with symbolic sizes by flattening and unflattening of dimensions."""
    replaced = 0
    for node in list(graph.nodes):
        if node.op == "call_function" and node.target in _VIEWS and _is_symbolic(node):
            with graph.inserting_before(node):
                result = _take_apart(graph, node)
            # Asked before the node is erased, which clears its arguments.
            unchanged = result is node.args[0]
            if unchanged and any(user.op == "output" for user in node.users):
                # A view as the same shape; the program's results go by the names of their nodes.
                continue
            node.replace_all_uses_with(result)
            graph.erase_node(node)
            if not unchanged:
                result.name = node.name
            replaced += 1
    return replaced


def _is_symbolic(node: torch.fx.Node) -> bool:
    """Whether a size is symbolic. Scalars and empty tensors have no dimensions to group."""
    shapes = [tuple(value.meta["val"].shape) for value in (node.args[0], node)]
    sizes = [size for shape in shapes for size in shape]
    return (
        all(shapes)
        and any(isinstance(size, torch.SymInt) for size in sizes)
        and not any(isinstance(size, int) and size == 0 for size in sizes)
    )


def _take_apart(graph: torch.fx.Graph, node: torch.fx.Node) -> torch.fx.Node:
    operand, sizes = node.args[0], node.args[1]
    before, after = operand.meta["val"].shape, node.meta["val"].shape
    groups = group_dimensions([*map(_expression, before)], [*map(_expression, after)])
    shape, result = list(before), operand
    # From the last dimension on, so that the numbers of those before stay what they are.
    for group in reversed(groups):
        start, end = group.before
        if end - start > 1:
            shape[start:end] = [math.prod(shape[start:end])]
            result = _insert(graph, node, _FLATTEN, (result, start, end - 1), shape)
    for index, group in reversed([*enumerate(groups)]):
        start, end = group.after
        if end - start > 1:
            shape[index : index + 1] = after[start:end]
            arguments = (result, index, list(sizes[start:end]))
            result = _insert(graph, node, _UNFLATTEN, arguments, shape)
    return result


def _insert(graph, origin: torch.fx.Node, target, arguments: tuple, shape: list) -> torch.fx.Node:
    node = graph.call_function(target, arguments)
    node.meta = {key: origin.meta[key] for key in _ORIGIN if key in origin.meta}
    value = origin.meta["val"]
    with detect_fake_mode(value):
        node.meta["val"] = torch.empty(shape, dtype=value.dtype, device=value.device)
    return node


def _expression(size: int | torch.SymInt) -> sympy.Expr:
    return sympy.Integer(size) if isinstance(size, int) else size.node.expr
