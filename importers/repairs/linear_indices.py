"""Rewrites index lists with dynamic sizes to one row-major index into flattened dimensions."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch.fx.experimental.symbolic_shapes import statically_known_true

from importers.decompositions.assertions import require
from importers.repairs.retrace import replace_calls

aten = torch.ops.aten

_READS = frozenset({aten.index.Tensor, aten._unsafe_index.Tensor})
_WRITE = aten.index_put.default
_Indices = Sequence[torch.Tensor | None]


def use_linear_indices(graph: torch.fx.Graph) -> int:
    """Computes one index from the lists that torch-mlir does not lower, or lowers incorrectly.

    Returns the number of lists. All indices must be i64, see `convert_indices`.
    """
    reads = [node for node in graph.nodes if node.target in _READS and _is_read_to_change(node)]
    writes = [node for node in graph.nodes if node.target is _WRITE and _is_write_to_change(node)]
    return replace_calls(
        graph, reads + writes, lambda node: _read if node.target in _READS else _write
    )


def _is_read_to_change(node: torch.fx.Node) -> bool:
    """Returns whether several indices have a dynamic size in the same dimension."""
    shapes = [index.shape for index in _values(node) if index is not None]
    rank = max(map(len, shapes))
    padded = [(1,) * (rank - len(shape)) + tuple(shape) for shape in shapes]
    return any(
        sum(not isinstance(size, int) for size in sizes) > 1 for sizes in zip(*padded, strict=True)
    )


def _is_write_to_change(node: torch.fx.Node) -> bool:
    """Returns whether the written part has a dynamic size, or torch-mlir has no lowering for it."""
    indices = _without_trailing_slices(_values(node))
    given = [index for index in indices if index is not None]
    if not _are_adjacent(indices) or not any(index.dim() for index in given):
        return True
    x, value = node.args[0].meta["val"], node.args[2].meta["val"]
    sizes = [
        *(size for index in given for size in index.shape),
        *(size for dim, size in enumerate(x.shape) if indices[dim : dim + 1] in ([], [None])),
    ]
    if all(isinstance(size, int) for size in sizes):
        return False
    if len(indices) > 1 or indices[0].dim() != 1:
        return True
    # A single 1-d index is already in the rewritten form, unless the value needs a broadcast.
    written = (*indices[0].shape, *x.shape[1:])
    return value.dim() != len(written) or not all(
        statically_known_true(a == b) for a, b in zip(value.shape, written, strict=True)
    )


def _values(node: torch.fx.Node) -> list[torch.Tensor | None]:
    return [index if index is None else index.meta["val"] for index in node.args[1]]


def _read(x: torch.Tensor, indices: _Indices) -> torch.Tensor:
    indices = _without_trailing_slices(indices)
    return aten.index.Tensor(x.flatten(0, len(indices) - 1), [_linear_index(x, indices)])


def _write(
    x: torch.Tensor, indices: _Indices, value: torch.Tensor, accumulate: bool = False
) -> torch.Tensor:
    indices = _without_trailing_slices(indices)
    index = indices[0] if len(indices) == 1 else _linear_index(x, indices)
    written = (*index.shape, *x.shape[len(indices) :])
    _require_fit(value.shape, written)
    # torch-mlir broadcasts a value to at least one row, even if the index is empty.
    value = value.expand(written)
    if not index.dim():
        index, value = index.unsqueeze(0), value.unsqueeze(0)
    written = aten.index_put(
        x.flatten(0, len(indices) - 1),
        [index.flatten()],
        value.flatten(0, index.dim() - 1),
        accumulate,
    )
    return written.reshape(x.shape)


def _require_fit(value: Sequence[int], written: Sequence[int]) -> None:
    """Checks that the shape of a value broadcasts to the written shape.

    A size that depends on data is not broadcast.
    """
    for given, wanted in zip(reversed(value), reversed(written), strict=False):
        if not statically_known_true(given == 1) and not statically_known_true(given == wanted):
            require(
                torch.scalar_tensor(given) == torch.scalar_tensor(wanted),
                "index_put has values of another shape than its indices select",
            )


def _linear_index(x: torch.Tensor, indices: _Indices) -> torch.Tensor:
    """Returns the row-major index (i64) into the leading dimensions of `x` that `indices` cover.

    It has the shape of `x[indices]` without the dimensions after them. Where one of the indices is
    out of range, it is at least the product of these dimensions. So the check of the new index
    also covers the indices that it replaces.
    """
    sizes = x.shape[: len(indices)]
    strides = [math.prod(sizes[dim + 1 :]) for dim in range(len(sizes))]
    given = [(dim, index) for dim, index in enumerate(indices) if index is not None]
    slices = [dim for dim, index in enumerate(indices) if index is None]
    terms, inside = [], []
    for dim, index in given:
        index = torch.where(index < 0, index + sizes[dim], index)
        terms.append(index * strides[dim])
        inside.append(torch.logical_and(index >= 0, index < sizes[dim]))
    linear, valid = terms[0], inside[0]
    for term, also in zip(terms[1:], inside[1:], strict=True):
        linear, valid = linear + term, torch.logical_and(valid, also)
    linear = torch.where(valid, linear, math.prod(sizes))
    # Slices precede adjacent indices, and follow indices that are not adjacent.
    after = 0 if _are_adjacent(indices) else len(slices)
    rank = linear.dim() + len(slices)
    linear = linear.reshape([*linear.shape, *[1] * after])
    for position, dim in enumerate(slices, linear.dim() - after if after else 0):
        steps = torch.arange(sizes[dim]) * strides[dim]
        linear = linear + steps.reshape(-1, *[1] * (rank - position - 1))
    return linear


def _without_trailing_slices(indices: _Indices) -> list[torch.Tensor | None]:
    last = max(dim for dim, index in enumerate(indices) if index is not None)
    return list(indices[: last + 1])


def _are_adjacent(indices: _Indices) -> bool:
    given = [dim for dim, index in enumerate(indices) if index is not None]
    return given[-1] - given[0] == len(given) - 1
