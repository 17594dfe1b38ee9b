"""Splits large operations into equal parts, for several threads and for the cache.

A part is a range of one parallel loop. Sums are never split, so every number is computed as it
would be by one thread. If only dynamic loops are left to split, the program computes the number and
the length of the parts in each call.

If a program has a batch of images, its convolutions with small filters, and its other large
operations, have a part for each image, also for one thread. Their loops are merged next, so that an
image passes through several layers while its data is in the cache.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from torch_mlir import ir

from pipelines.ir.contraction import (
    Contraction,
    find_contraction,
    indexing_maps,
    loop_sizes,
    pixel_loops,
)
from pipelines.ir.lazy_dialects import arith, memref, scf
from pipelines.ir.loops import Size, index
from pipelines.ir.modules import find_operations
from pipelines.ir.tensor_ops import dynamic_sizes, product_of
from pipelines.ir.values import constant_integer
from pipelines.reference.analysis.effort import ENOUGH, PART, deserves_schedule, work
from pipelines.reference.schedules import last_columns
from pipelines.reference.schedules.contraction import ALL_ROWS, SMALL, rows_of_panel
from pipelines.reference.schedules.places import sum_of_dimensions
from pipelines.reference.schedules.winograd import SQUARE, WINOGRAD
from pipelines.reference.steps.rows import ROWS

# An attribute of loops whose iterations may run in any order, or at the same time.
PARTS = "unmess.parts"
# Columns and rows that a schedule of products computes together. A part has a multiple of them if
# possible, otherwise a multiple of a few columns. With many rows, schedules sum the last columns in
# another order, those behind a multiple of 8. So such parts have a multiple of 8 columns.
_COLUMNS, _ROWS, _FEW_COLUMNS, _FEW_COLUMNS_OF_MANY_ROWS = 32, 4, 4, 8
# Maximum part of the columns that one thread computes, because they do not divide evenly.
_LITTLE_REST = 0.02
# Maximum number of elements of the filters of a convolution whose parts have all filters.
_SMALL_FILTERS = 1 << 18
# Minimum number of tiles of a part, with Winograd's algorithm: each part transforms all filters.
_TILES = 64
# The numbers of elements in the registers of all processors.
_LANES = (2, 4, 8, 16)
# Maximum number of parts for each thread.
_MOST = 4
# The dynamic size for which it is decided whether to split a static loop.
_USUAL = 16


def split(module: ir.Module, threads: int) -> None:
    """Puts large linalg operations on memrefs, and loops over rows, into loops over their parts.

    Args:
        threads: the number of threads; with one, only images are split.
    """
    with module.context, ir.Location.unknown():
        for function in module.body.operations:
            _split_function(function.operation, threads)


def _split_function(function: ir.Operation, threads: int) -> None:
    images = _parts_of_images(function, threads)
    for operation in find_operations(function, _may_be_split, outermost=True):
        if PARTS in operation.attributes:
            continue
        if ROWS in operation.attributes:
            _split_rows(operation, threads, images)
        elif operation.results:
            continue
        elif images is None or not _split_images(operation, threads, images):
            _split_generic(operation, threads)


def _may_be_split(operation: ir.Operation) -> bool:
    """Returns whether an operation may be split, or contains others but is split already."""
    marks = (ROWS, PARTS)
    return operation.name == "linalg.generic" or any(each in operation.attributes for each in marks)


def _parts_of_images(function: ir.Operation, threads: int) -> int | None:
    """Returns the number of parts of the batch that most convolutions have, or None.

    It is as large as possible: the fewer images a part has, the more layers fit in the cache.
    """
    batches: dict[int, list[float]] = {}
    for generic in find_operations(function, lambda each: each.name == "linalg.generic"):
        found = find_contraction(generic)
        if found is not None and all(_is_static(each.type) for each in generic.operands):
            for dimension in _images(found, indexing_maps(generic)[-1]):
                batches.setdefault(found.sizes[dimension], []).append(work(generic))
    if not batches:
        return None
    size, amounts = max(batches.items(), key=lambda item: sum(item[1]))
    most = sum(amounts) / len(amounts) / ENOUGH
    counts = [n for n in range(max(threads, 2), size + 1) if size % n == 0 and n <= most]
    return min(counts, key=lambda count: (_time(count, threads), -count), default=None)


def _split_images(generic: ir.Operation, threads: int, images: int) -> bool:
    """Splits an operation on a batch of images. Returns False if it has none, or little work."""
    # With one thread, too, because only operations with this much work get vector code.
    if work(generic) < max(threads, 2) * ENOUGH:
        return False
    found, maps = find_contraction(generic), indexing_maps(generic)
    for dimension in _shared(generic) if found is None else _images(found, maps[-1]):
        size = loop_sizes(generic)[dimension]
        if size is not None and size % images == 0:
            _emit(generic, dimension, size // images, images)
            generic.erase()
            return True
    return False


def _split_rows(outermost: ir.Operation, threads: int, images: int | None) -> None:
    """Splits the outermost loop of a nest over rows that has enough work in each iteration."""
    nest = find_operations(outermost, lambda each: ROWS in each.attributes)[::-1]
    generics = find_operations(outermost, lambda inner: inner.name == "linalg.generic")
    sizes = [constant_integer(loop.operands[1]) for loop in nest]
    for depth, loop in enumerate(nest):
        total = sum(map(work, generics)) * math.prod(sizes[depth:])
        is_batch = images is not None and sizes[depth] % images == 0
        choices = (images if is_batch else None, _parts(sizes[depth], threads))
        parts = next((n for n in choices if n is not None and total >= n * ENOUGH), None)
        if parts is None:
            continue
        for outer in nest[:depth]:
            # Otherwise, the whole nest would become one function.
            del outer.attributes[ROWS]
        with ir.InsertionPoint(loop), loop.location:
            turns, start, end = _begin(parts, sizes[depth] // parts)
            with ir.InsertionPoint.at_block_terminator(turns.body):
                copy = loop.clone()
                copy.operation.operands[0] = start
                copy.operation.operands[1] = end
        loop.erase()
        return


def _split_generic(generic: ir.Operation, threads: int) -> None:
    if threads < 2:
        return
    total = work(generic, _USUAL)
    for dimension, multiple, least in _candidates(generic):
        size = loop_sizes(generic)[dimension]
        if size is None:
            continue
        parts = _parts(size, threads, multiple, least)
        if parts is not None and total >= parts * ENOUGH:
            _emit(generic, dimension, size // parts, parts)
            generic.erase()
            return
        length = size // (_COLUMNS * threads) * _COLUMNS
        has_little_rest = size - threads * length < _LITTLE_REST * size
        if multiple == _COLUMNS and has_little_rest and total >= threads * ENOUGH:
            _emit(generic, dimension, length, threads)
            generic.erase()
            return
    for dimension, multiple, _ in _candidates(generic):
        if loop_sizes(generic)[dimension] is None:
            _emit_dynamic(generic, dimension, multiple, threads)
            generic.erase()
            return


def _is_static(operand: ir.Type) -> bool:
    if not isinstance(operand, ir.MemRefType):
        # A number.
        return not isinstance(operand, ir.ShapedType)
    strides, _ = operand.get_strides_and_offset()
    dynamic = ir.ShapedType.get_dynamic_stride_or_offset()
    return operand.has_static_shape and dynamic not in strides


def _candidates(generic: ir.Operation) -> list[tuple[int, int, int]]:
    """Returns the loops to split, best first.

    Each has the number that divides the size of a part, and the minimum size.
    """
    found = find_contraction(generic)
    if found is None:
        return [(dimension, 1, 1) for dimension in _shared(generic)]
    # Each part copies the elements of the right operand that it reads. Parts along the columns copy
    # no element twice, but each reads the whole left operand.
    columns = [] if found.windows else found.columns
    many = found.extent(found.rows) >= last_columns.ROWS
    few = _FEW_COLUMNS_OF_MANY_ROWS if many else _FEW_COLUMNS
    return [
        *((dimension, 1, 1) for dimension in found.batch),
        *(_images_and_rows(generic, found) if found.windows else []),
        *((dimension, _COLUMNS, 1) for dimension in columns),
        *((dimension, _ROWS, 1) for dimension in found.rows),
        *((dimension, few, 1) for dimension in columns),
    ]


def _shared(generic: ir.Operation) -> list[int]:
    """Returns the loops that index an axis of every result."""
    inputs = generic.attributes["operandSegmentSizes"][0]
    results = [
        [each.position for each in indexing.results if isinstance(each, ir.AffineDimExpr)]
        for indexing in indexing_maps(generic)[inputs:]
    ]
    return [
        dimension
        for dimension in range(len(loop_sizes(generic)))
        if all(dimension in axes for axes in results)
    ]


def _images(found: Contraction, out: ir.AffineMap) -> list[int]:
    """Returns the loops over the images of a convolution with small filters."""
    if not _has_small_filters(found):
        return []
    image = pixel_loops(found, out)
    return [dimension for dimension in found.columns if dimension not in image]


def _has_small_filters(found: Contraction) -> bool:
    return found.extent((*found.rows, *found.depth)) <= _SMALL_FILTERS


def _images_and_rows(generic: ir.Operation, found: Contraction) -> list[tuple[int, int, int]]:
    """Returns the images of a convolution with small filters, and the rows of a large image.

    Parts of an image add in the order of the whole: their panels have as many rows, and a panel
    holds only a part of them. With Winograd's algorithm, they have the same squares of results.
    """
    out = indexing_maps(generic)[-1]
    candidates = [(dimension, 1, 1) for dimension in _images(found, out)]
    image = pixel_loops(found, out)
    width_and_height = [found.sizes[dimension] for dimension in image]
    if len(image) == 2 and None not in width_and_height and _has_small_filters(found):
        width, height = width_and_height
        if WINOGRAD in generic.attributes:
            least = SQUARE * math.ceil(_TILES * SQUARE / width)
            return [*candidates, (image[1], SQUARE, least)]
        rows = math.lcm(*(rows_of_panel(height, width, lanes) for lanes in _LANES))
        large = range(max(math.ceil(SMALL / width), 1), height)
        enough = next((n for n in large if height % n == 0 and n % rows == 0), height)
        candidates.append((image[1], enough, 1))
    return candidates


def _parts(size: int | None, threads: int, multiple: int = 1, least: int = 1) -> int | None:
    """Returns a number of equal parts that keeps the threads busy, or None if there is none.

    Each thread has the same number of parts, or one less. The number with the least idle time is
    chosen, and the smallest such number.
    """
    if size is None or size % multiple or threads < 2:
        return None
    possible = range(threads, min(_MOST * threads - 1, size // least) + 1)
    counts = [n for n in possible if size // multiple % n == 0]
    return min(counts, key=lambda count: _time(count, threads), default=None)


def _time(parts: int, threads: int) -> float:
    """Returns the time of all parts, relative to the time of one thread for the whole."""
    return -(-parts // threads) / parts


def _begin(parts: int, length: int) -> tuple[scf.ForOp, ir.Value, ir.Value]:
    """Creates a loop over parts. Returns it with the start and the end of a part."""
    turns = _begin_loop(index(parts))
    with ir.InsertionPoint(turns.body):
        steps = index(length)
        start = arith.MulIOp(turns.induction_variable, steps).result
        end = arith.AddIOp(start, steps).result
        scf.YieldOp([])
    return turns, start, end


def _begin_loop(parts: ir.Value) -> scf.ForOp:
    """Creates a loop over parts without a body."""
    turns = scf.ForOp(index(0), parts, index(1))
    turns.operation.attributes[PARTS] = ir.UnitAttr.get()
    return turns


def split_little(generic: ir.Operation, parts: int) -> Iterator[ir.Operation]:
    """Yields loops over parts of an operation that is too small to be split alone.

    The operation stays, after the loop. There are none for contractions, whose order of additions
    depends on the sizes of a part.
    """
    if generic.name != "linalg.generic" or generic.results or find_contraction(generic):
        return
    if PART in generic.attributes or not all(_is_static(each.type) for each in generic.operands):
        return
    for dimension, *_ in _candidates(generic):
        size = loop_sizes(generic)[dimension]
        if size and size % parts == 0:
            is_large = deserves_schedule(generic)
            yield _emit(generic, dimension, size // parts, parts, is_large=is_large)


def _emit(
    generic: ir.Operation, dimension: int, length: int, parts: int, *, is_large: bool = True
) -> ir.Operation:
    """Creates a loop over parts of an operation, and an operation on the rest of the dimension.

    Args:
        is_large: mark the parts, so that they get vector code like the whole operation.
    """
    size = loop_sizes(generic)[dimension]
    rest = size - parts * length
    with ir.InsertionPoint(generic), generic.location:
        turns, start, _ = _begin(parts, length)
        with ir.InsertionPoint.at_block_terminator(turns.body):
            _clone_part(generic, dimension, start, size - length, is_large=is_large)
        if rest:
            start = index(parts * length)
            _clone_part(generic, dimension, start, size - rest)
    return turns.operation


def _emit_dynamic(generic: ir.Operation, dimension: int, multiple: int, threads: int) -> None:
    """Creates a loop over one part of a dynamic loop for each thread, or one part for all.

    Args:
        multiple: divides the length of each part but the last.
    """
    with ir.InsertionPoint(generic), generic.location:
        sizes = _dynamic_sizes(generic)
        size = sizes[dimension]
        # The number of iterations of all dynamic loops from which on the work is enough.
        enough = math.ceil(threads * ENOUGH / work(generic))
        iterations = product_of(list(sizes.values()))
        is_enough = arith.CmpIOp(arith.CmpIPredicate.uge, iterations, index(enough)).result
        unit = index(multiple)
        units = arith.CeilDivUIOp(size, index(multiple * threads)).result
        length = arith.SelectOp(is_enough, arith.MulIOp(units, unit).result, size).result
        # Without elements, the length is 0.
        divisor = arith.MaxUIOp(length, index(1)).result
        parts = arith.SelectOp(is_enough, arith.CeilDivUIOp(size, divisor).result, index(1)).result
        turns = _begin_loop(parts)
        with ir.InsertionPoint(turns.body):
            start = arith.MulIOp(turns.induction_variable, length).result
            left = arith.SubIOp(size, start).result
            less = arith.SubIOp(size, arith.MinUIOp(length, left).result).result
            _clone_part(generic, dimension, start, less)
            scf.YieldOp([])


def _dynamic_sizes(generic: ir.Operation) -> dict[int, ir.Value]:
    """Returns the sizes of the dynamic loops of an operation."""
    found = {}
    for operand, indexing in zip(generic.operands, indexing_maps(generic), strict=True):
        for axis, expression in enumerate(indexing.results):
            if isinstance(expression, ir.AffineDimExpr):
                dimension = expression.position
                if loop_sizes(generic)[dimension] is None and dimension not in found:
                    found[dimension] = memref.DimOp(operand, index(axis)).result
    return found


def _clone_part(
    generic: ir.Operation, dimension: int, start: ir.Value, less: Size, *, is_large: bool = True
) -> None:
    """Creates the operation on a part of a dimension.

    Args:
        less: how much shorter the part is than the dimension.
    """
    operands = [
        _part(operand, indexing, dimension, start, less)
        for operand, indexing in zip(generic.operands, indexing_maps(generic), strict=True)
    ]
    copy = generic.clone()
    if is_large:
        copy.operation.attributes[PART] = ir.UnitAttr.get()
    found = find_contraction(generic)
    if found is not None and math.isfinite(rows := found.extent(found.rows)):
        rows = ir.IntegerAttr.get(ir.IndexType.get(), int(rows))
        copy.operation.attributes[ALL_ROWS] = rows
    for position, operand in enumerate(operands):
        copy.operation.operands[position] = operand
    _shift_indices(copy.operation, dimension, start)


def _shift_indices(generic: ir.Operation, dimension: int, start: ir.Value) -> None:
    """Adds the start of the part to each `linalg.index` of the loop that was split."""
    for inner in find_operations(generic, lambda each: each.name == "linalg.index"):
        if ir.IntegerAttr(inner.attributes["dim"]).value == dimension:
            with ir.InsertionPoint.after(inner), inner.location:
                place = arith.AddIOp(inner.result, start)
            inner.result.replace_all_uses_except(place.result, [place.operation])


def _part(
    operand: ir.Value,
    indexing: ir.AffineMap,
    dimension: int,
    start: ir.Value,
    less: Size,
) -> ir.Value:
    """Returns the view of an operand that a part of the loop reads or writes.

    Args:
        start: the first index of the dimension.
        less: how much shorter the part is than the dimension.
    """
    whole = operand.type
    if not isinstance(whole, ir.MemRefType):
        return operand
    factors = [
        sum(by for d, by in sum_of_dimensions(expression) if d == dimension)
        for expression in indexing.results
    ]
    if not any(factors):
        return operand
    dynamic = ir.ShapedType.get_dynamic_stride_or_offset()
    offsets = [dynamic if factor else 0 for factor in factors]
    values = [arith.MulIOp(start, index(factor)).result for factor in factors if factor]
    # The views of windows overlap.
    sizes = [_less(operand, axis, factor, less) for axis, factor in enumerate(factors)]
    strides, _ = whole.get_strides_and_offset()
    layout = ir.StridedLayoutAttr.get(dynamic, strides)
    static = [
        ir.ShapedType.get_dynamic_size() if isinstance(size, ir.Value) else size for size in sizes
    ]
    view = ir.MemRefType.get(static, whole.element_type, layout)
    ones = [1] * whole.rank
    return memref.SubViewOp(
        view, operand, values, dynamic_sizes(sizes), [], offsets, static, ones
    ).result


def _less(operand: ir.Value, axis: int, factor: int, less: Size) -> Size:
    """Returns the size of an axis of a memref less `factor * less`."""
    whole = operand.type
    is_dynamic = whole.is_dynamic_dim(axis)
    if not factor or isinstance(less, int):
        distance = factor * less if factor else 0
        if not is_dynamic:
            return whole.get_dim_size(axis) - distance
        size = memref.DimOp(operand, index(axis)).result
        return arith.SubIOp(size, index(distance)).result if distance else size
    size = (
        memref.DimOp(operand, index(axis)).result if is_dynamic else index(whole.get_dim_size(axis))
    )
    return arith.SubIOp(size, arith.MulIOp(less, index(factor)).result).result
