"""Recognizes convolutions of images, and of stacks of images."""

from __future__ import annotations

from dataclasses import dataclass

from torch_mlir import ir

from pipelines.ir.contraction import find_contraction, indexing_maps
from pipelines.reference.schedules.places import sum_of_dimensions


@dataclass(frozen=True)
class Convolution:
    """A convolution of padded images in f32, with stride 1 and dilation 1.

    In a convolution of volumes, an image is a layer of a volume, and the layers of a filter are
    channels: each result is a sum over the channels of windows of an image.

    Attributes:
        sizes: of all loops; None if dynamic.
        images: the loops over images.
        groups: the loops over groups, each with filters and channels of its own.
        filter: the loop over filters.
        channels: the loops over channels, in the order of a filter's elements.
        row, column: the loops over the results of an image.
        filter_row, filter_column: the loops over a window.
    """

    sizes: tuple[int | None, ...]
    images: tuple[int, ...]
    groups: tuple[int, ...]
    filter: int
    channels: tuple[int, ...]
    row: int
    column: int
    filter_row: int
    filter_column: int

    @property
    def window(self) -> tuple[int | None, int | None]:
        """The height and width of a filter."""
        return self.sizes[self.filter_row], self.sizes[self.filter_column]

    @property
    def result(self) -> tuple[int | None, int | None]:
        """The height and width of the result of an image."""
        return self.sizes[self.row], self.sizes[self.column]


def find_convolution(generic: ir.Operation) -> Convolution | None:
    """Returns the convolution that a `linalg.generic` on memrefs computes, or None.

    Rows and columns are the last axes of all operands, and the elements of a filter are adjacent in
    memory.
    """
    found = find_contraction(generic)
    if found is None or not found.windows or len(found.rows) != 1:
        return None
    types = [operand.type for operand in generic.operands]
    if not all(isinstance(each, ir.MemRefType) for each in types):
        return None
    if {str(ir.MemRefType(each).element_type) for each in types} != {"f32"}:
        return None
    maps = indexing_maps(generic)
    filters, pixels, out = (
        [sum_of_dimensions(each) for each in maps[position].results]
        for position in (found.lhs, found.rhs, 2)
    )
    if min(len(filters), len(pixels), len(out)) < 3:
        return None
    row, column = (terms[0][0] for terms in out[-2:])
    *outer, filter_row, filter_column = (terms[0][0] for terms in filters)
    count = len(found.batch)
    groups, filter, channels = outer[:count], outer[count : count + 1], outer[count + 1 :]
    windows = [[(row, 1), (filter_row, 1)], [(column, 1), (filter_column, 1)]]
    if [sorted(terms) for terms in pixels[-2:]] != [sorted(terms) for terms in windows]:
        return None
    if filter != [*found.rows] or {*groups} != {*found.batch}:
        return None
    if not {row, column} <= {*found.columns}:
        return None
    others = {dimension for terms in pixels[:-2] for dimension, _ in terms}
    if not channels or others & {row, column, filter_row, filter_column}:
        return None
    convolution = Convolution(
        sizes=found.sizes,
        images=tuple(d for d in found.columns if d not in (row, column)),
        groups=tuple(groups),
        filter=filter[0],
        channels=tuple(channels),
        row=row,
        column=column,
        filter_row=filter_row,
        filter_column=filter_column,
    )
    return convolution if _are_adjacent(types[found.lhs], count + 1) else None


def _are_adjacent(filters: ir.Type, outer: int) -> bool:
    """Returns whether the elements of a filter are adjacent in memory.

    Args:
        outer: the number of axes of groups and filters.
    """
    memref = ir.MemRefType(filters)
    strides, _ = memref.get_strides_and_offset()
    expected = 1
    sizes = list(zip(memref.shape, strides, strict=True))[outer:]
    for size, stride in reversed(sizes):
        if stride != expected or size == ir.ShapedType.get_dynamic_size():
            return False
        expected *= size
    return True
