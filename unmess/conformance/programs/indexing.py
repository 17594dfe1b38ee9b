"""Operators with indices: gathers, scatters, masks and sorts."""

from __future__ import annotations

import torch

from unmess.conformance.programs.builder import Builder, Family, Skip
from unmess.conformance.programs.values import ANY, BOOL, COMPLEX, FLOATS, INTEGERS, REAL, SIGNED

INDEXING = Family()


def _indices(b: Builder, shape, size: int, *, negative: bool = False) -> str:
    """Creates a new input of indices below `size`."""
    if size == 0:
        raise Skip
    numbers = [(3 * i + 1) % size for i in range(size)]
    if negative:
        numbers = [n - size if i % 2 else n for i, n in enumerate(numbers)]
    return b.new(shape, b.pick(torch.int64, torch.int64, torch.int32), "small", numbers)


def _long(b: Builder, shape, size: int) -> str:
    return f"{_indices(b, shape, size)}.long()"


def _source(b: Builder, low: int = 1, high: int = 3, dtypes=ANY) -> tuple[str, int, int]:
    """Draws a value that is not empty and one of its dimensions. Returns the size of that, too."""
    x = b.tensor(dtypes, (low, high))
    axis = b.axis(x)
    if b[x].numel() == 0:
        raise Skip
    return x, axis, b[x].shape[axis]


def _resized(b: Builder, x: str, axis: int, most: int) -> list[int]:
    """Draws the shape of `x` with another size along one dimension."""
    shape = list(b[x].shape)
    shape[axis] = b.integer(1, most)
    return shape


def _part(b: Builder, x: str, axis: int, most: int) -> list[int]:
    """Draws a shape that fits within that of `x`, except along one dimension."""
    shape = [b.integer(1, n) for n in b[x].shape]
    shape[axis] = b.integer(1, most)
    return shape


def _placed(b: Builder, dtypes) -> tuple[str, str]:
    """Draws the operands of a scatter: a value, a dimension, indices, and a source.

    Returns:
        The name of the value, and all operands as text.
    """
    x, axis, size = _source(b, dtypes=dtypes)
    shape = _part(b, x, axis, 6)
    places = _long(b, shape, size)
    return x, f"{x}, {axis}, {places}, {b.new(shape, b[x].dtype, 'small')}"


@INDEXING.add(exact=True)
def index_select(b: Builder) -> str:
    x, axis, size = _source(b)
    return f"torch.index_select({x}, {axis}, {_indices(b, (b.size(),), size)})"


@INDEXING.add(exact=True)
def gather(b: Builder) -> str:
    x, axis, size = _source(b)
    return f"torch.gather({x}, {axis}, {_long(b, _part(b, x, axis, 5), size)})"


@INDEXING.add(exact=True)
def take(b: Builder) -> str:
    x, _, _ = _source(b)
    if x in b.sized_by_data:
        raise Skip  # torch.export must know whether the tensor is empty.
    return f"torch.take({x}, {_long(b, b.shape(b.integer(0, 2)), b[x].numel())})"


@INDEXING.add(exact=True)
def take_along(b: Builder) -> str:
    x, axis, size = _source(b)
    return f"torch.take_along_dim({x}, {_long(b, _resized(b, x, axis, 4), size)}, {axis})"


@INDEXING.add(exact=True)
def lists_of_indices(b: Builder) -> str:
    x, _, _ = _source(b, 1, 4)
    sizes = b[x].shape
    first = _indices(b, (b.integer(0, 3),), sizes[0], negative=True)
    if len(sizes) == 1:
        return f"{x}[{first}]"
    count = b[first].shape
    return b.pick(
        f"{x}[{first}]",
        f"{x}[:, {_indices(b, (2, 2), sizes[1], negative=True)}]",
        f"{x}[{first}, {_indices(b, count, sizes[1], negative=True)}]",
        f"{x}[..., {_indices(b, (2,), sizes[-1])}]",
        f"{x}[{first}, None, ..., 0]",
    )


@INDEXING.add(exact=True)
def index_put(b: Builder) -> str:
    x, _, _ = _source(b, 1, 3)
    size = b[x].shape[0]
    count = b.integer(1, size)
    rows = b.permutation(count, size, negative=True)
    shape = b.pick((count, *b[x].shape[1:]), b[x].shape[1:], ())
    values = b.new(shape, b[x].dtype, "small")
    accumulate = b.pick(False, True) if b[x].dtype != torch.bool else False
    return b.pick(
        f"torch.index_put({x}, ({rows},), {values}, accumulate={accumulate})",
        f"{{out}} = {x}.clone()\n{{out}}[{rows}] = {values}",
    )


@INDEXING.add(exact=True)
def index_add(b: Builder) -> str:
    x, axis, size = _source(b, dtypes=(*REAL, *COMPLEX))
    shape = _resized(b, x, axis, 6)
    source = b.new(shape, b[x].dtype, "small")
    return f"torch.index_add({x}, {axis}, {_indices(b, (shape[axis],), size)}, {source})"


@INDEXING.add(exact=True)
def index_copy(b: Builder) -> str:
    x, axis, size = _source(b)
    shape = _resized(b, x, axis, size)
    rows = b.permutation(shape[axis], size)
    source = b.new(shape, b[x].dtype, "small")
    return b.pick(
        f"torch.index_copy({x}, {axis}, {rows}, {source})",
        f"torch.index_fill({x}, {axis}, {rows}, 1)",
    )


@INDEXING.add(exact=True)
def scatter(b: Builder) -> str:
    """Draws a scatter to distinct elements, because the order of writes is undefined."""
    x, axis, size = _source(b, dtypes=(*REAL, *BOOL))
    whole = _resized(b, x, axis, size)
    rows = b.permutation(whole[axis], size)
    shape = [1] * b[x].dim()
    shape[axis] = whole[axis]
    places = f"{rows}.reshape({shape}).expand({whole})"
    if b.chance(30):
        return f"torch.scatter({x}, {axis}, {places}, 1)"
    return f"torch.scatter({x}, {axis}, {places}, {b.new(whole, b[x].dtype, 'small')})"


@INDEXING.add(exact=True)
def scatter_add(b: Builder) -> str:
    _, operands = _placed(b, (*REAL, *COMPLEX))
    return f"torch.scatter_add({operands})"


@INDEXING.add()
def scatter_reduce(b: Builder) -> str:
    x, operands = _placed(b, REAL)
    how = b.pick("amax", "amin", "sum", "prod", "mean")
    if how == "mean" and b[x].dtype in INTEGERS:
        raise Skip
    return f"torch.scatter_reduce({operands}, '{how}', include_self={b.pick(True, False)})"


@INDEXING.add(exact=True)
def embedding(b: Builder) -> str:
    table = b.tensor(FLOATS, (2, 2), where=lambda value: value.shape[0] > 0)
    tokens = _indices(b, b.shape(b.integer(0, 2)), b[table].shape[0])
    return f"F.embedding({tokens}, {table})"


@INDEXING.add(exact=True)
def masked(b: Builder) -> str:
    x = b.tensor(ANY, (1, 3))
    mask = b.partner(x, BOOL)
    return b.pick(
        f"{x}.masked_fill({mask}, 1)",
        f"{{out}} = {x}.clone()\n{{out}}[{mask}.expand_as({x})] = 1",
        f"{x}.masked_scatter({mask}, {b.new((b[x].numel(),), b[x].dtype, 'small')})",
    )


@INDEXING.add(exact=True, sized_by_data=True)
def chosen_by_a_mask(b: Builder) -> str:
    x = b.tensor((*REAL, *BOOL), (1, 3))
    mask = b.new(b[x].shape, torch.bool, "small")
    return f"{x}[{mask}]"


@INDEXING.add(exact=True)
def largest(b: Builder) -> str:
    x, axis, size = _source(b, dtypes=REAL)
    return (
        f"torch.topk({x}, {b.integer(1, size)}, dim={axis}, largest={b.pick(True, False)}).values"
    )


@INDEXING.add(exact=True)
def sorted_values(b: Builder) -> str:
    x, axis, _ = _source(b, dtypes=(*REAL, *BOOL))
    return f"torch.sort({x}, dim={axis}, descending={b.pick(False, True)}).values"


@INDEXING.add()
def sorted_places(b: Builder) -> str:
    x = b.tensor(REAL, (1, 3), exact=True)
    options = f"dim={b.axis(x)}, stable=True, descending={b.pick(False, True)}"
    return b.pick(f"torch.argsort({x}, {options})", f"torch.sort({x}, {options}).indices")


@INDEXING.add()
def one_hot(b: Builder) -> str:
    return f"F.one_hot({_long(b, b.shape(b.integer(0, 2)), 4)}, {b.integer(4, 6)})"


@INDEXING.add()
def buckets(b: Builder) -> str:
    x = b.tensor((*FLOATS[:2], *SIGNED[:2]), (0, 2), exact=True)
    edges = b.new((4,), b[x].dtype, "small", [-2, 0, 1, 2])
    return f"torch.bucketize({x}, torch.sort({edges}).values, right={b.pick(False, True)})"
