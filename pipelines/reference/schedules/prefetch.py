"""Prefetches the columns that the next panel copies, while the current panel is multiplied.

The weights of a linear layer are contiguous along the sum. The copy of a panel reads a short piece
of each column, from memory or from the last cache, and the processor does not predict where the
next piece starts. So each step of the sums prefetches a part of the pieces of the next panel. On an
Intel Emerald Rapids, layers with 64 to 197 rows and weights of 9 MB take 0.80 to 0.97 of the time.

Weights that are contiguous along the columns are not prefetched: with 197 rows, the products took
longer than without prefetches.
"""

from __future__ import annotations

import math

from pipelines.reference.schedules.panel import Source
from pipelines.reference.schedules.places import Place

# The bytes from which on an operand is not expected to be in a cache close to the processor.
_LARGE = 512 * 1024
# The most prefetches in a step of a sum. More would take longer than they save.
_MOST = 4


class Prefetches:
    """The prefetches in the steps of one tile of rows, of a few columns of the next panel."""

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
            code.add(
                f"memref.prefetch {source.buffer.value}[{address}], read, locality<3>, data : "
                f"{source.buffer.type}"
            )


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
        and _columns_of_tile(source, row, shape) <= _MOST
    )


def _columns_of_tile(source: Source, row: int, shape: tuple[int, int]) -> int:
    """Returns how many columns each tile prefetches, so that all tiles prefetch a whole panel."""
    width, height = shape
    return -(-width // -(-source.found.sizes[row] // height))
