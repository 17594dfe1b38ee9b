"""Rewrites reshapes with several dynamic sizes to `flatten` and `unflatten`."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass

import sympy
import torch
from torch._guards import detect_fake_mode

_VIEWS = (torch.ops.aten.view.default, torch.ops.aten._unsafe_view.default)
_FLATTEN = torch.ops.aten.flatten.using_ints
_UNFLATTEN = torch.ops.aten.unflatten.int
# Metadata that the replacement nodes inherit.
_ORIGIN = ("stack_trace", "nn_module_stack", "source_fn_stack", "torch_fn")


@dataclass(frozen=True)
class Group:
    """Adjacent dimensions of the operand that become adjacent dimensions of the result.

    `before` and `after` are half-open ranges of dimensions with the same number of elements.
    """

    before: tuple[int, int]
    after: tuple[int, int]


def group_dimensions(before: Sequence[sympy.Expr], after: Sequence[sympy.Expr]) -> list[Group]:
    """Splits a reshape from `before` to `after` into the smallest groups of dimensions.

    Two products of sizes count as equal only if they are equal for all values of their symbols. The
    groups are therefore valid for all values. Dimensions that cannot be split form one group.

    Args:
        before, after: the sizes, of at least one dimension each and equal numbers of elements.
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
    # The remaining dimensions have size 1 in total.
    last = groups.pop()
    groups.append(Group((last.before[0], len(before)), (last.after[0], len(after))))
    return groups


def split_symbolic_views(graph: torch.fx.Graph) -> int:
    """Replaces views with symbolic sizes by `flatten` and `unflatten`; returns how many."""
    replaced = 0
    for node in list(graph.nodes):
        if node.op == "call_function" and node.target in _VIEWS and _is_symbolic(node):
            with graph.inserting_before(node):
                result = _split(graph, node)
            # Compare before the node is erased: erasing clears its arguments.
            unchanged = result is node.args[0]
            if unchanged and any(user.op == "output" for user in node.users):
                # Keep a no-op view that is a result: results are identified by their node names.
                continue
            node.replace_all_uses_with(result)
            graph.erase_node(node)
            if not unchanged:
                result.name = node.name
            replaced += 1
    return replaced


def _is_symbolic(node: torch.fx.Node) -> bool:
    """Returns True if a size is symbolic. Scalars and empty tensors have nothing to group."""
    shapes = [tuple(value.meta["val"].shape) for value in (node.args[0], node)]
    sizes = [size for shape in shapes for size in shape]
    return (
        all(shapes)
        and any(isinstance(size, torch.SymInt) for size in sizes)
        and not any(isinstance(size, int) and size == 0 for size in sizes)
    )


def _split(graph: torch.fx.Graph, node: torch.fx.Node) -> torch.fx.Node:
    operand, sizes = node.args[0], node.args[1]
    before, after = operand.meta["val"].shape, node.meta["val"].shape
    groups = group_dimensions([*map(_expression, before)], [*map(_expression, after)])
    shape, result = list(before), operand
    # Start at the last dimension, so that the indices of earlier dimensions stay valid.
    for group in reversed(groups):
        start, end = group.before
        if end - start > 1:
            shape[start:end] = [math.prod(shape[start:end])]
            result = _insert(graph, node, _FLATTEN, (result, start, end - 1), shape)
    for index, group in reversed([*enumerate(groups)]):
        start, end = group.after
        if end - start > 1:
            into = _known(graph, node, (result, index), list(sizes[start:end]))
            shape[index : index + 1] = after[start:end]
            arguments = (result, index, into)
            result = _insert(graph, node, _UNFLATTEN, arguments, shape)
    return result


def _known(
    graph: torch.fx.Graph,
    origin: torch.fx.Node,
    place: tuple[torch.fx.Node, int],
    sizes: list[int | torch.fx.Node],
) -> list[int | torch.fx.Node]:
    """Returns the sizes with a quotient in place of -1, if another one of them is symbolic.

    torch-mlir computes the size for -1 only if all others are constants.

    Args:
        place: the tensor and its dimension that is unflattened to `sizes`.
    """
    others = [size for size in sizes if size != -1]
    if len(others) == len(sizes) or all(isinstance(size, int) for size in others):
        return sizes
    tensor, axis = place
    quotient = graph.call_function(torch.ops.aten.sym_size.int, place)
    quotient.meta = _inherited(origin, tensor.meta["val"].shape[axis])
    for divisor in others:
        by = divisor.meta["val"] if isinstance(divisor, torch.fx.Node) else divisor
        value = quotient.meta["val"] // by
        quotient = graph.call_function(operator.floordiv, (quotient, divisor))
        quotient.meta = _inherited(origin, value)
    return [quotient if size == -1 else size for size in sizes]


def _insert(graph, origin: torch.fx.Node, target, arguments: tuple, shape: list) -> torch.fx.Node:
    node = graph.call_function(target, arguments)
    value = origin.meta["val"]
    with detect_fake_mode(value):
        node.meta = _inherited(origin, torch.empty(shape, dtype=value.dtype, device=value.device))
    return node


def _inherited(origin: torch.fx.Node, value: object) -> dict[str, object]:
    return {key: origin.meta[key] for key in _ORIGIN if key in origin.meta} | {"val": value}


def _expression(size: int | torch.SymInt) -> sympy.Expr:
    return sympy.Integer(size) if isinstance(size, int) else size.node.expr
