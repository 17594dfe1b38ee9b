"""Collapses loops that index all operands contiguously into one.

The inner loops over a 7 x 7 image are shorter than a vector. One loop of 49 is long enough.

A convolution with 1 x 1 filters becomes a product of matrices, with a column for each pixel. The
panels of a product are as wide as a tile, so that they stay in the first-level cache. Each panel
reads the filters again. So a convolution of small images with large filters is not changed: there,
all pixels of an image share one panel.
"""

from __future__ import annotations

import math

from torch_mlir import ir

from pipelines.ir.contraction import Contraction, find_contraction, indexing_maps, pixel_loops
from pipelines.ir.lazy_dialects import memref
from pipelines.ir.modules import find_operations
from pipelines.reference.schedules.contraction import SMALL

# Number of elements of the filters up to which they stay in the second-level cache.
_CACHED_FILTERS = 1 << 17


def collapse_loops(module: ir.Module) -> None:
    """Collapses loops of `linalg.generic` on memrefs, in place.

    Of contractions, only convolutions with 1 x 1 filters are collapsed.
    """
    found = find_operations(
        module, lambda operation: operation.name == "linalg.generic" and not operation.results
    )
    with module.context, ir.Location.unknown():
        for operation in found:
            maps = indexing_maps(operation)
            contraction = find_contraction(operation)
            pixels: list[int] = []
            if contraction is not None:
                pixels = pixel_loops(contraction, maps[-1])
                if not _multiplies_pixels(operation, contraction, pixels):
                    continue
                maps = [_without_windows(each, contraction.sizes) for each in maps]
            groups = _groups(operation, maps)
            joins_pixels = any(set(pixels).issubset(group) for group in groups)
            if joins_pixels and len(groups) < maps[0].n_dims:
                _collapse(operation, maps, groups)


def _multiplies_pixels(generic: ir.Operation, found: Contraction, pixels: list[int]) -> bool:
    """Returns whether a convolution, if its filters are 1 x 1, is faster as a product.

    Args:
        pixels: the loops over the pixels of an image.
    """
    count = found.extent(tuple(pixels))
    kinds = {str(ir.ShapedType(operand.type).element_type) for operand in generic.operands}
    return (
        found.windows
        and kinds in ({"f32"}, {"f64"})
        and 1 < count < math.inf
        and (count >= SMALL or found.extent((*found.rows, *found.depth)) <= _CACHED_FILTERS)
    )


def _without_windows(indexing: ir.AffineMap, sizes: tuple[int | None, ...]) -> ir.AffineMap:
    """Removes loops with one iteration from sums of two loops."""

    def simplified(expression: ir.AffineExpr) -> ir.AffineExpr:
        if isinstance(expression, ir.AffineAddExpr):
            left, right = expression.lhs, expression.rhs
            if isinstance(right, ir.AffineDimExpr) and sizes[right.position] == 1:
                return left
        return expression

    return ir.AffineMap.get(indexing.n_dims, 0, list(map(simplified, indexing.results)))


def _groups(generic: ir.Operation, maps: list[ir.AffineMap]) -> list[list[int]]:
    """Returns lists of loops; the loops of a list can be collapsed into one."""
    count = maps[0].n_dims
    singles = [[dimension] for dimension in range(count)]
    if (
        not all(isinstance(each.type, ir.MemRefType) for each in generic.operands)
        or not all(_picks(indexing) for indexing in maps)
        or _knows_its_place(generic)
    ):
        return singles
    kinds = [str(kind) for kind in ir.ArrayAttr(generic.attributes["iterator_types"])]
    groups: list[list[int]] = []
    for dimension in range(count):
        together = dimension > 0 and kinds[dimension - 1] == kinds[dimension]
        if together and all(
            _runs_on(operand.type, indexing, dimension)
            for operand, indexing in zip(generic.operands, maps, strict=True)
        ):
            groups[-1].append(dimension)
        else:
            groups.append([dimension])
    return groups


def _picks(indexing: ir.AffineMap) -> bool:
    """Returns whether each axis is indexed by a loop of its own, or by a constant."""
    used = [
        each.position if isinstance(each, ir.AffineDimExpr) else None
        for each in indexing.results
        if not isinstance(each, ir.AffineConstantExpr)
    ]
    return None not in used and len(set(used)) == len(used)


def _knows_its_place(generic: ir.Operation) -> bool:
    return bool(find_operations(generic, lambda inner: inner.name == "linalg.index"))


def _runs_on(buffer: ir.MemRefType, indexing: ir.AffineMap, dimension: int) -> bool:
    """Returns whether a loop and the enclosing one can be one for a buffer, or do not index it."""
    axes = _axes(indexing)
    inner, outer = axes.get(dimension), axes.get(dimension - 1)
    if inner is None or outer is None:
        return inner is outer
    strides, _ = buffer.get_strides_and_offset()
    dynamic = ir.ShapedType.get_dynamic_stride_or_offset()
    return (
        inner == outer + 1
        and not buffer.is_dynamic_dim(inner)
        and not buffer.is_dynamic_dim(outer)
        and dynamic not in (strides[inner], strides[outer])
        and strides[outer] == buffer.shape[inner] * strides[inner]
    )


def _axes(indexing: ir.AffineMap) -> dict[int, int]:
    """Returns the axis that each loop indexes."""
    return {
        each.position: axis
        for axis, each in enumerate(indexing.results)
        if isinstance(each, ir.AffineDimExpr)
    }


def _collapse(generic: ir.Operation, old: list[ir.AffineMap], groups: list[list[int]]) -> None:
    kinds = list(ir.ArrayAttr(generic.attributes["iterator_types"]))
    new = {dimensions[0]: position for position, dimensions in enumerate(groups)}
    operands: list[ir.Value] = []
    maps: list[ir.AffineMap] = []
    with ir.InsertionPoint(generic), generic.location:
        for operand, indexing in zip(generic.operands, old, strict=True):
            # The axes of each group, and the expression that indexes them after the collapse.
            axes: list[list[int]] = []
            results: list[ir.AffineExpr] = []
            for axis, each in enumerate(indexing.results):
                if not isinstance(each, ir.AffineDimExpr):
                    axes.append([axis])
                    results.append(each)
                elif each.position in new:
                    axes.append([axis])
                    results.append(ir.AffineExpr.get_dim(new[each.position]))
                else:
                    axes[-1].append(axis)
            operands.append(_with_axes(operand, axes))
            maps.append(ir.AffineMap.get(len(groups), 0, results))
        copy = generic.clone()
    for index, operand in enumerate(operands):
        copy.operation.operands[index] = operand
    copy.operation.attributes["indexing_maps"] = ir.ArrayAttr.get(
        [ir.AffineMapAttr.get(indexing) for indexing in maps]
    )
    copy.operation.attributes["iterator_types"] = ir.ArrayAttr.get(
        [kinds[dimensions[0]] for dimensions in groups]
    )
    generic.erase()


def _with_axes(operand: ir.Value, axes: list[list[int]]) -> ir.Value:
    """Returns the view of a buffer in which each list of axes is collapsed into one."""
    old = operand.type
    if len(axes) == old.rank:
        return operand
    strides, offset = old.get_strides_and_offset()
    shape = [math.prod(old.shape[axis] for axis in group) for group in axes]
    layout = None
    if old.layout != ir.MemRefType.get(old.shape, old.element_type).layout:
        layout = ir.StridedLayoutAttr.get(offset, [strides[group[-1]] for group in axes])
    new = ir.MemRefType.get(shape, old.element_type, layout)
    return memref.CollapseShapeOp(new, operand, axes).result
