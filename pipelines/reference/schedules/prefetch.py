"""Prefetches what the next tile or panel of a contraction reads, while the current one is summed.

The weights of a linear layer are contiguous along the sum. The copy of a panel reads a short piece
of each column, from memory or from the last cache, and the processor does not predict where the
next piece starts. So each step of the sums prefetches a part of the pieces of the next panel. On an
Intel Emerald Rapids, layers with 64 to 197 rows and weights of 9 MB take 0.80 to 0.97 of the time.

Right operands that are contiguous along the columns are not prefetched: with 197 rows, the products
took longer than without prefetches, and so did convolutions with 1x1 filters.

If the right operand is not prefetched, the steps prefetch the rows of the left operand that the
next tile reads. These are also short pieces, such as the filters of a convolution. On the same
processor, a convolution with 512 to 2048 channels and 7x7 pixels takes 0.83 of the time.
"""

from __future__ import annotations

import math

from pipelines.reference.schedules.code import Code
from pipelines.reference.schedules.panel import Source
from pipelines.reference.schedules.places import Buffer, Index, Place

# The bytes from which on an operand is not expected to be in a cache close to the processor.
_LARGE = 512 * 1024
# The least number of registers of sums for each prefetch in a step. More prefetches would take
# longer than they save.
_SUMS = 4


class NextPanel:
    """Prefetches a few columns of the next panel, in the steps of one tile of rows."""

    def __init__(self, source: Source, place: Place, row: int, shape: tuple[int, int]):
        """Emits the numbers of the columns.

        Args:
            source: must be supported (`is_prefetched`).
            place: where the tile starts.
            row: the dimension of the rows.
            shape: the columns and rows of a tile.
        """
        self._source = source
        code, column = source.code, source.found.column
        width, height = shape
        each = _columns_of_tile(source, row, shape)
        tile = code.value(
            f"affine.apply affine_map<(d0) -> (d0 floordiv {height})>({code.index(place[row])})"
        )
        first = code.sum([(place[column], 1), (tile, each)], width)
        # Behind the last panel, prefetch a column that exists. It does no harm.
        last = code.index(source.found.sizes[column] - 1)
        self._columns = [
            code.value(f"arith.minsi {code.index(code.sum([(first, 1)], number))}, {last} : index")
            for number in range(each)
        ]

    def emit(self, place: Place) -> None:
        """Emits the prefetches of a step of the sum."""
        source, code = self._source, self._source.code
        for column in self._columns:
            address = source.buffer.at(code, {**place, source.found.column: column})
            prefetch(code, source.buffer, address)


class NextRows:
    """Prefetches the rows of the next tile, in the steps of one tile of rows."""

    def __init__(self, source: Source, left: Buffer, row: int, height: int):
        """Initializes the prefetches.

        Args:
            source: the right operand. Its panel has all steps of the sum.
            left: the left operand. Its rows are contiguous and adjacent.
            row: the dimension of the rows.
            height: the number of rows of the tile.
        """
        self._source, self._left = source, left
        self._row, self._height = row, height

    def emit(self, place: Place) -> None:
        """Emits the prefetch of a step of the sum."""
        code, found = self._source.code, self._source.found
        # The rows of the next tile are one piece of memory. Each step prefetches from a place that
        # is `height` elements after that of the last step. The index exceeds the innermost axis.
        terms: list[tuple[Index, int]] = []
        distance = self._height
        for dimension in reversed(found.depth):
            terms.append((place[dimension], distance))
            distance *= found.sizes[dimension]
        there = {**place, **dict.fromkeys(found.depth, 0)}
        there[self._row] = code.sum([(place[self._row], 1)], self._height)
        there[found.depth[-1]] = code.sum(terms)
        prefetch(code, self._left, self._left.at(code, there))


def prefetch(code: Code, buffer: Buffer, address: str) -> None:
    """Emits a prefetch. An address behind the end of the memory has no effect.

    Args:
        address: indices, as `Buffer.at` returns them.
    """
    code.add(f"memref.prefetch {buffer.value}[{address}], read, locality<3>, data : {buffer.type}")


def is_prefetched(source: Source, row: int | None, shape: tuple[int, int]) -> bool:
    """Returns whether a contraction reads a large right operand that is contiguous along the sum.

    Args:
        row: the dimension of the rows.
        shape: the columns and rows of a tile.
    """
    found = source.found
    if found.windows or found.rows != (row,) or len(found.depth) != 1:
        return False
    count = found.extent((*found.rows, found.column, *found.depth))
    return (
        count < math.inf
        and source.buffer.access[-1] == [(found.depth[0], 1)]
        and count // found.sizes[row] * source.item >= _LARGE
        and _columns_of_tile(source, row, shape) * _SUMS <= math.prod(shape) // source.lanes
    )


def _columns_of_tile(source: Source, row: int, shape: tuple[int, int]) -> int:
    """Returns how many columns each tile prefetches, so that all tiles prefetch a whole panel."""
    width, height = shape
    return -(-width // -(-source.found.sizes[row] // height))
