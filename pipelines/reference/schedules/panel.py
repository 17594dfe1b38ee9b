"""Reads the right operand of a contraction, in place or from a panel, which is a copy."""

from __future__ import annotations

import math
from dataclasses import dataclass

from torch_mlir import ir

from pipelines.ir.contraction import Contraction
from pipelines.reference.schedules.code import Code
from pipelines.reference.schedules.machine import Machine
from pipelines.reference.schedules.places import (
    Buffer,
    Index,
    Place,
    Ranges,
    load,
    load_columns,
    load_number,
    stride_of,
)

# Bytes of a panel: half of a small second-level cache.
_BYTES = 256 * 1024
# Bytes of a cache line.
_LINE = 64
# Number of steps that a register sums before it is added to the result. Long chains of additions
# lose precision, and eager's kernels cut them too.
CHAIN = 512


@dataclass
class Source:
    """The right operand of a contraction, and properties of the contraction.

    Attributes:
        code: the emitted code.
        found: the contraction.
        buffer: the operand.
        sizes: the sizes of the loops: numbers, or names of values.
        element: the element type of the sums.
        machine: the target.
    """

    code: Code
    found: Contraction
    buffer: Buffer
    sizes: list[Index]
    element: ir.Type
    machine: Machine

    @property
    def lanes(self) -> int:
        """The number of elements in a register."""
        return self.machine.vector_bytes // self.item

    @property
    def item(self) -> int:
        """The number of bytes of an element."""
        return self.element.width // 8


class InPlace:
    """Reads vectors of the operand in place."""

    def __init__(self, source: Source):
        self._source = source

    def read(self, place: Place, vector: str, width: int, mask: str | None, offset: int) -> str:
        """Returns the vector `offset` columns after `place`, with zeros where masked off."""
        source, column = self._source, self._source.found.column
        here = {**place, column: source.code.sum([(place[column], 1)], offset)}
        address = source.buffer.at(source.code, here)
        return load(source.code, source.buffer, address, width, mask, source.element)


class Panel:
    """A copy of a block of the right operand, with a row for each step of the sum."""

    def __init__(self, source: Source, width: int):
        self._source = source
        self._cut, self._block = _block(source, width)
        code, found = source.code, source.found
        # For each depth dimension, the number of panel rows between two of its steps.
        self._strides: dict[int, Index] = {}
        rows: Index = 1
        for dimension in reversed(found.depth):
            self._strides[dimension] = rows
            size = self._block if dimension == self._cut else source.sizes[dimension]
            if isinstance(rows, int) and isinstance(size, int):
                rows *= size
            else:
                rows = code.value(f"arith.muli {code.index(rows)}, {code.index(size)} : index")
        self._is_dynamic = isinstance(rows, str)
        # The largest number of steps in a block, or None if it is dynamic.
        self.rows = None if self._is_dynamic else rows
        self.type = (
            f"memref<{'?' if self._is_dynamic else rows}x{pitch(width, source.item)}x"
            f"{source.element}>"
        )
        if self._is_dynamic:
            self.value = code.value(f"memref.alloc({rows}) {{alignment = 64 : i64}} : {self.type}")
        else:
            # Outside of all loops, because malloc takes as long as the copy of a small panel.
            self.value = code.memory(self.type)

    def free(self) -> None:
        """Frees the memory, unless the end of the function does."""
        if self._is_dynamic:
            self._source.code.add(f"memref.dealloc {self.value} : {self.type}")

    def blocks(self) -> list[tuple[Index, Index, int]]:
        """Returns ranges of the dimension that is cut into blocks: first, last, step."""
        if self._cut is None:
            return [(0, 1, 1)]
        size = self._source.sizes[self._cut]
        if isinstance(size, str):
            return [(0, size, self._block)]
        whole = size // self._block * self._block
        ranges = [(0, whole, self._block)]
        return ranges + ([(whole, size, size - whole)] if whole < size else [])

    def bounds(self, block: Index, step: int) -> dict[int, tuple[Index, Index]]:
        """Returns the bounds of each depth dimension in a block; the last is excluded."""
        source = self._source
        bounds: dict[int, tuple[Index, Index]] = {}
        self._origin = block
        # The number of steps of each dimension, or None.
        self._lengths = {
            dimension: step if dimension == self._cut else source.found.sizes[dimension]
            for dimension in source.found.depth
        }
        for dimension in source.found.depth:
            if dimension != self._cut:
                bounds[dimension] = (0, source.sizes[dimension])
                continue
            last = source.code.sum([(block, 1)], step)
            size = source.sizes[dimension]
            if isinstance(size, str):
                last = source.code.value(f"arith.minsi {last}, {size} : index")
                self._lengths[dimension] = None
            bounds[dimension] = (block, last)
        return bounds

    @property
    def innermost(self) -> int:
        """The innermost dimension of the sum."""
        return self._source.found.depth[-1]

    @property
    def steps(self) -> int:
        """The number of steps of the sum in the current block, which must be static."""
        return math.prod(self._lengths.values())

    @property
    def is_whole(self) -> bool:
        """Whether a block has all steps of the sum."""
        return self._cut is None or self._block == self._source.found.sizes[self._cut]

    @property
    def is_range(self) -> bool:
        """Whether the steps of a block are consecutive: no inner dimension is cut."""
        depth, sizes = self._source.found.depth, self._source.found.sizes
        return self.is_whole or all(
            sizes[dimension] == 1 for dimension in depth[: depth.index(self._cut)]
        )

    def _row(self, place: Place) -> str:
        """Returns the panel's row for a step of the sum."""
        code = self._source.code
        total: list[tuple[Index, int]] = []
        for dimension, stride in self._strides.items():
            index = place[dimension]
            if dimension == self._cut:
                index = code.sum([(index, 1), (self._origin, -1)])
            if isinstance(stride, str):
                index, stride = (
                    code.value(f"arith.muli {code.index(index)}, {stride} : index"),
                    1,
                )
            total.append((index, stride))
        return code.index(code.sum(total))

    def fill(
        self,
        place: Place,
        depths: dict[int, tuple[Index, Index]],
        count: Index,
        offset: Index = 0,
    ) -> None:
        """Copies `count` columns of the right operand from `place` to column `offset` and on."""
        source, code = self._source, self._source.code
        column = source.found.column
        # The depth dimension along which the right operand is contiguous, if any.
        inner = next((d for d in depths if source.buffer.access[-1] == [(d, 1)]), None)
        steps = [d for d in depths if d != inner]
        with Ranges(code, steps, depths, place) as here:
            if inner is None and isinstance(count, int) and self._is_copied_in_vectors():
                self._copy(here, count, offset)
            elif inner is None:
                with code.loop(0, count) as lane:
                    spot = {**here, column: code.sum([(place[column], 1), (lane, 1)])}
                    self._move(spot, code.sum([(lane, 1), (offset, 1)]))
            else:
                self._transpose(here, inner, depths[inner], count, offset)

    def _is_copied_in_vectors(self) -> bool:
        """Returns whether adjacent columns are adjacent elements, or every second one."""
        return stride_of(self._source.buffer, self._source.found.column) in (1, 2)

    def _copy(self, place: Place, count: int, offset: Index) -> None:
        """Copies columns in vectors, and writes zeros behind them, up to a power of two."""
        lanes = self._source.lanes
        whole = count // lanes * lanes
        if whole:
            with self._source.code.loop(0, whole, lanes) as lane:
                self._copy_vector(place, lane, offset, lanes, None)
        if rest := count - whole:
            self._copy_vector(place, whole, offset, _power_of_two(rest), rest)

    def _copy_vector(
        self, place: Place, lane: Index, offset: Index, width: int, valid: int | None
    ) -> None:
        source, code = self._source, self._source.code
        column = source.found.column
        spot = {**place, column: code.sum([(place[column], 1), (lane, 1)])}
        value = load_columns(code, source.buffer, spot, column, width, valid, source.element)
        there = code.index(code.sum([(lane, 1), (offset, 1)]))
        code.add(
            f"vector.store {value}, {self.value}[{self._row(spot)}, {there}] : {self.type}, "
            f"vector<{width}x{source.element}>"
        )

    def _transpose(
        self,
        place: Place,
        inner: int,
        depth: tuple[Index, Index],
        count: Index,
        offset: Index,
    ) -> None:
        """Copies columns that are contiguous along the sum: squares first, then the rest."""
        source, code = self._source, self._source.code
        column, side = source.found.column, source.machine.vector_bytes // source.item
        lanes = count // side * side if isinstance(count, int) else 0
        length = self._lengths[inner]
        squares = length // side * side if length is not None else 0
        if lanes and squares:
            with code.loop(0, lanes, side) as lane, code.loop(0, squares, side) as step:
                spot = {
                    **place,
                    column: code.sum([(place[column], 1), (lane, 1)]),
                    inner: code.sum([(depth[0], 1), (step, 1)]),
                }
                self._move_square(spot, inner, code.sum([(lane, 1), (offset, 1)]), side)
        else:
            lanes = squares = 0
        # Copy the elements below the squares and beside them.
        for lane_range, start in (((0, lanes), squares), ((lanes, count), 0)):
            if lane_range[0] == lane_range[1] or length == start:
                continue
            below = code.sum([(depth[0], 1)], start)
            with code.loop(*lane_range) as lane, code.loop(below, depth[1]) as step:
                there = code.sum([(place[column], 1), (lane, 1)])
                spot = {**place, column: there, inner: step}
                self._move(spot, code.sum([(lane, 1), (offset, 1)]))

    def _move_square(self, spot: Place, inner: int, lane: Index, side: int) -> None:
        """Copies a square transposed."""
        source, code = self._source, self._source.code
        rhs, column = source.buffer, source.found.column
        vector = f"vector<{side}x{source.element}>"
        rows = []
        for row in range(side):
            address = rhs.at(code, {**spot, column: code.sum([(spot[column], 1)], row)})
            rows.append(load(code, rhs, address, side, None, source.element))
        for position, row in enumerate(transposed(code, rows, vector, side)):
            step = code.sum([(spot[inner], 1)], position)
            code.add(
                f"vector.store {row}, {self.value}[{self._row({**spot, inner: step})}, "
                f"{code.index(lane)}] : {self.type}, {vector}"
            )

    def _move(self, spot: Place, lane: Index) -> None:
        source, code = self._source, self._source.code
        rhs = source.buffer
        number = load_number(code, rhs, rhs.at(code, spot), source.element)
        row = self._row(spot)
        code.add(f"memref.store {number}, {self.value}[{row}, {code.index(lane)}] : {self.type}")

    def columns(self, position: Index) -> PanelColumns:
        """Returns a reader of vectors that start at this column."""
        return PanelColumns(self, position)

    def read(self, place: Place, position: Index, offset: int, vector: str) -> str:
        """Returns the vector of columns from `position + offset` on, in the row of a step."""
        code = self._source.code
        row, position = self._row(place), code.sum([(position, 1)], offset)
        return code.value(
            f"vector.load {self.value}[{row}, {code.index(position)}] : {self.type}, {vector}"
        )


def transposed(code: Code, rows: list[str], vector: str, side: int) -> list[str]:
    """Returns the columns of a square: interleaves the two halves of its rows log2(side) times.

    Args:
        rows: as many vectors as each has elements, which is a power of two.
        vector: their type.
        side: their number.
    """
    half = side // 2
    low = [position // 2 + side * (position % 2) for position in range(side)]
    high = [position + half for position in low]
    for _ in range(side.bit_length() - 1):
        rows = [
            code.value(f"vector.shuffle {left}, {right} {picked} : {vector}, {vector}")
            for left, right in zip(rows[:half], rows[half:], strict=True)
            for picked in (low, high)
        ]
    return rows


@dataclass
class PanelColumns:
    """Reads vectors of a panel that start at a column."""

    panel: Panel
    position: Index

    def read(self, place: Place, vector: str, width: int, mask: str | None, offset: int) -> str:
        """Returns the vector that starts `offset` columns after the first one.

        Ignores the mask, because the panel is padded to whole vectors.
        """
        return self.panel.read(place, self.position, offset, vector)


def written(count: int, lanes: int) -> int:
    """Returns how many columns a copy of `count` columns writes: in registers, then in one vector.

    Args:
        lanes: the number of elements in a register.
    """
    rest = count % lanes
    return count - rest + (_power_of_two(rest) if rest else 0)


def _power_of_two(count: int) -> int:
    return 1 << (count - 1).bit_length()


def pitch(width: int, item: int) -> int:
    """Returns the distance of the rows of a panel: as `width`, or a cache line more.

    A row of several tiles must be an odd number of cache lines. If the number is divisible by a
    power of two, the same columns of all rows compete for a few sets of the first-level cache.
    """
    lines = -(-width * item // _LINE)
    return width if lines <= 2 or lines % 2 else (lines + 1) * _LINE // item


def _block(source: Source, width: int) -> tuple[int | None, int]:
    """Returns the depth dimension to cut for a panel of this width, and the size of a block."""
    found = source.found
    deepest = max(found.depth, key=lambda d: found.sizes[d] or 1 << 40, default=None)
    if deepest is None:
        return None, 1
    others = found.extent(tuple(d for d in found.depth if d != deepest))
    others = 1 if math.isinf(others) else int(others)
    limit = max(min(_BYTES // (width * source.item), CHAIN) // others, 16)
    size = found.sizes[deepest]
    if size is None:
        return deepest, limit
    # Blocks have about equal sizes, because a short last one costs as much to start as a long one.
    return deepest, -(-size // -(-size // limit))
