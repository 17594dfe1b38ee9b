"""Multiplies with a repeated matrix once, as heads of a query do that share their keys and values.

`bmm` of [heads, rows, k] and matrices that were repeated to [heads, k, n] becomes one of
[matrices, repeats * rows, k] and [matrices, k, n]. The copies of the matrices, which are the whole
cache in each step of a decoder, are not written.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch

from importers.decompositions import decomposition_table
from importers.decompositions.tracing import tracing
from importers.repairs.retrace import replace_call

aten = torch.ops.aten

# Operators that may join the dimensions before the matrices.
_RESHAPES = frozenset(
    {
        *(aten.view.default, aten._unsafe_view.default, aten.expand.default),
        *(aten.flatten.using_ints, aten.unflatten.int, aten.clone.default),
    }
)


@dataclass(frozen=True)
class _Repeated:
    """Matrices that are each repeated.

    Attributes:
        matrices: the node of the matrices, [..., 1, m, n].
        count: how many there are.
        repeats: how often each one is repeated.
        are_transposed: whether the product takes their transposes.
        factors: numbers that the matrices are multiplied with.
    """

    matrices: torch.fx.Node
    count: int
    repeats: int
    are_transposed: bool
    factors: tuple[float, ...]


def multiply_repeated_once(graph: torch.fx.Graph) -> int:
    """Rewrites products whose right operand is repeated; returns how many."""
    products = [node for node in graph.nodes if node.target is aten.bmm.default]
    found = [(node, repeated) for node in products if (repeated := _repeated(node.args[1]))]
    if not found:
        return 0
    with tracing(graph, decomposition_table()) as table:
        for node, repeated in found:
            node.args = (node.args[0], repeated.matrices)
            replace_call(node, _product(repeated), table)
    return len(found)


def _repeated(node: torch.fx.Node) -> _Repeated | None:
    """Returns the matrices that a node repeats, [count * repeats, m, n]; None for others."""
    are_transposed = False
    factors: list[float] = []
    batch = node.meta["val"].shape[0]
    while isinstance(batch, int) and node.op == "call_function":
        if node.target is aten.expand.default and (repeats := _repeats(node)) > 1:
            count = batch // repeats
            return _Repeated(node.args[0], count, repeats, are_transposed, tuple(factors))
        if _scales(node):
            factors.append(node.args[1])
        elif _transposes(node):
            are_transposed = not are_transposed
        elif node.target not in _RESHAPES or not _keeps_matrices(node):
            return None
        node = node.args[0]
    return None


def _repeats(expand: torch.fx.Node) -> int:
    """Returns how often each matrix is repeated; 1 if something else is expanded."""
    before, after = (each.meta["val"].shape for each in (expand.args[0], expand))
    static = all(isinstance(size, int) for size in after[:-2])
    if len(before) != len(after) or len(after) < 3 or not static:
        return 1
    others = _are_equal(before[:-3] + before[-2:], after[:-3] + after[-2:])
    return after[-3] if others and before[-3] == 1 else 1


def _keeps_matrices(node: torch.fx.Node) -> bool:
    """Returns whether a reshape changes only the dimensions before the matrices."""
    before, after = (each.meta["val"].shape for each in (node.args[0], node))
    return (
        min(len(before), len(after)) >= 3
        and _are_equal(before[-2:], after[-2:])
        and all(isinstance(size, int) for size in (*before[:-2], *after[:-2]))
        and math.prod(before[:-2]) == math.prod(after[:-2])
    )


def _are_equal(left: torch.Size, right: torch.Size) -> bool:
    """Returns whether sizes are known to be equal."""
    return len(left) == len(right) and all(map(_is_equal, left, right))


def _is_equal(left: int | torch.SymInt, right: int | torch.SymInt) -> bool:
    if isinstance(left, torch.SymInt) and isinstance(right, torch.SymInt):
        return left.node.expr == right.node.expr
    return isinstance(left, int) and isinstance(right, int) and left == right


def _scales(node: torch.fx.Node) -> bool:
    return (
        node.target in (aten.mul.Scalar, aten.mul.Tensor)
        and isinstance(node.args[1], (int, float))
        and node.meta["val"].dtype == node.args[0].meta["val"].dtype
    )


def _transposes(node: torch.fx.Node) -> bool:
    """Returns whether an operator transposes each matrix."""
    if node.target is not aten.permute.default:
        return False
    dims = len(node.args[1])
    return [axis % dims for axis in node.args[1]] == [*range(dims - 2), dims - 1, dims - 2]


def _product(repeated: _Repeated) -> Callable[[torch.Tensor, torch.Tensor], torch.Tensor]:
    count, repeats = repeated.count, repeated.repeats

    def call(left: torch.Tensor, matrices: torch.Tensor) -> torch.Tensor:
        matrices = matrices.flatten(0, -3)
        if repeated.are_transposed:
            matrices = matrices.mT
        rows = left.unflatten(0, (count, repeats)).flatten(1, 2)
        # The cache of a decoder has more elements than a step's rows.
        scales_rows = _is_smaller(rows, matrices)
        for factor in repeated.factors:
            if scales_rows:
                rows = torch.mul(rows, factor)
            else:
                matrices = torch.mul(matrices, factor)
        result = torch.bmm(rows, matrices)
        return result.unflatten(1, (repeats, left.shape[1])).flatten(0, 1)

    return call


def _is_smaller(left: torch.Tensor, right: torch.Tensor) -> bool:
    """Returns whether a tensor is known to have fewer elements."""
    sizes = (*left.shape, *right.shape)
    return all(isinstance(size, int) for size in sizes) and left.numel() < right.numel()
