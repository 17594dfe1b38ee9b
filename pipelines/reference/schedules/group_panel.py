"""A panel with groups of steps: in each lane of 32 bits, four bytes or two numbers of bf16.

The processor multiplies signed bytes by unsigned ones. So a panel of bytes holds `byte + 128`.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

from torch_mlir import ir

from pipelines.reference.schedules.code import Code
from pipelines.reference.schedules.panel import Source, pitch, transposed
from pipelines.reference.schedules.places import Index, Place, load, zeros

# The rows of the panel that are copied without a loop, at most.
_UNROLLED = 256
# The bytes of a column of a panel, at most: the panel stays in the cache, and is never cut.
_DEEPEST = 1 << 15


def group_of(source: Source) -> int:
    """Returns the number of steps in a lane."""
    return 32 // ir.MemRefType(source.buffer.type).element_type.width


def fits(source: Source) -> bool:
    """Returns whether a panel of the right operand can be filled."""
    found, access, group = source.found, source.buffer.access, group_of(source)
    outer, *inner = found.depth
    if found.extent(found.depth) * 4 > _DEEPEST * group:
        return False
    last = dict(access[-1])
    if found.column not in last:
        # The operand is contiguous along the sum.
        return not inner and access[-1] == [(outer, 1)]
    steps = math.prod(found.sizes[dimension] for dimension in inner)
    return last[found.column] in (1, 2) and _period(steps, group) * steps <= _UNROLLED


def _period(steps: int, group: int) -> int:
    """Returns how many steps of the outer dimension fill whole groups."""
    return group // math.gcd(group, steps)


class GroupPanel:
    """A copy of the right operand: for each group of steps, all columns, and for each its steps."""

    def __init__(self, source: Source, width: int, multiple: int = 1):
        """Allocates the panel.

        Args:
            width: the number of columns.
            multiple: the number of groups is rounded up to a multiple of it.
        """
        self._source = source
        self.depth = math.prod(source.found.sizes[dimension] for dimension in source.found.depth)
        self.group = group_of(source)
        self._element = ir.MemRefType(source.buffer.type).element_type
        # The distance of two groups, in elements.
        self.pitch = pitch(width * self.group, 4 // self.group)
        groups = -(-self.depth // (self.group * multiple)) * multiple
        self.type = f"memref<{groups}x{self.pitch}x{self._element}>"
        self.value = source.code.memory(self.type)
        self._lanes = source.machine.vector_bytes // source.item
        self._size = self._lanes * self.group
        self._vector = f"vector<{self._size}x{self._element}>"
        if isinstance(self._element, ir.FloatType):
            # Otherwise, the product of the zeros that follow a row with what lies there may be NaN.
            self._write_zeros(self.depth // self.group, groups, width * self.group)

    def _write_zeros(self, first: int, last: int, size: int) -> None:
        """Writes zeros to some groups: those that the copy does not fill."""
        code, zero = self._source.code, zeros(self._source.code, self._vector, self._element)
        if first == last:
            return
        with code.loop(first, last) as group, code.loop(0, size, self._size) as place:
            address = f"{code.index(group)}, {code.index(place)}"
            code.add(f"vector.store {zero}, {self.value}[{address}] : {self.type}, {self._vector}")

    def blocks(self) -> list[tuple[Index, Index, int]]:
        """Returns a range with the whole depth."""
        return [(0, 1, 1)]

    def bounds(self, block: Index, step: int) -> dict[int, tuple[Index, Index]]:
        """Returns the bounds of each depth dimension."""
        found = self._source.found
        return {dimension: (0, found.sizes[dimension]) for dimension in found.depth}

    def free(self) -> None:
        """Does nothing: the end of the function frees the memory."""

    def columns(self, position: Index) -> GroupPanelColumns:
        """Returns a reader of the columns from this one on."""
        return GroupPanelColumns(self, position)

    def address(self, group: Index, column: Index, offset: int) -> str:
        """Returns the indices of one group of column `column + offset`."""
        code = self._source.code
        place = code.sum([(column, self.group)], offset * self.group)
        return f"{code.index(group)}, {code.index(place)}"

    def read(self, group: Index, column: Index, offset: int) -> str:
        """Returns a register: one group of the columns from `column + offset` on."""
        address = self.address(group, column, offset)
        return self._source.code.value(
            f"vector.load {self.value}[{address}] : {self.type}, {self._vector}"
        )

    def fill(
        self,
        place: Place,
        depths: dict[int, tuple[Index, Index]],
        count: int,
        offset: Index = 0,
    ) -> None:
        """Copies `count` columns of the right operand from `place` to column `offset` and on."""
        source, code = self._source, self._source.code
        outer, *inner = source.found.depth
        if source.found.column not in dict(source.buffer.access[-1]):
            self._transpose(place, count, offset)
            return
        steps = [
            dict(zip(inner, values, strict=True))
            for values in itertools.product(*(range(source.found.sizes[each]) for each in inner))
        ]
        period, size = _period(len(steps), self.group), source.found.sizes[outer]
        whole = size // period * period
        if whole:
            with code.loop(0, whole, period) as start:
                places = [
                    {**place, **step, outer: code.sum([(start, 1)], position)}
                    for position in range(period)
                    for step in steps
                ]
                self._interleave(places, code.sum([(start, 1)]), len(steps), count, offset)
        if whole < size:
            places = [
                {**place, **step, outer: position}
                for position in range(whole, size)
                for step in steps
            ]
            self._interleave(places, whole, len(steps), count, offset)

    def _interleave(
        self, places: list[Place], start: Index, steps: int, count: int, offset: Index
    ) -> None:
        """Copies rows that are contiguous along the columns.

        Args:
            places: where the rows begin, in the order of the sum.
            start: the step of the outer dimension of the first one.
            steps: the number of rows for each step of the outer dimension.
        """
        code, lanes = self._source.code, self._lanes
        whole = count // lanes * lanes
        if whole:
            with code.loop(0, whole, lanes) as lane:
                self._interleave_register(places, start, steps, lane, offset, None)
        if whole < count:
            self._interleave_register(places, start, steps, whole, offset, count - whole)

    def _interleave_register(
        self,
        places: list[Place],
        start: Index,
        steps: int,
        lane: Index,
        offset: Index,
        valid: int | None,
    ) -> None:
        source, code = self._source, self._source.code
        column = source.found.column
        here = [{**place, column: code.sum([(place[column], 1), (lane, 1)])} for place in places]
        for first in range(0, len(here), self.group):
            rows = [self._row(spot, valid) for spot in here[first : first + self.group]]
            rows += [self._zeros()] * (self.group - len(rows))
            unit = 1
            while len(rows) > 1:
                rows = [
                    self._zipped(*pair, unit) for pair in zip(rows[::2], rows[1::2], strict=True)
                ]
                unit *= 2
            group = self._group(start, steps, first)
            there = code.sum([(lane, 1), (offset, 1)])
            self._store(rows[0], group, there, valid)

    def _group(self, start: Index, steps: int, first: int) -> Index:
        """Returns the panel's row of a step of the sum, which is the first one of a group.

        Args:
            start, steps: as for `_interleave`.
            first: the number of rows between `start` and the step.
        """
        if isinstance(start, int):
            return (start * steps + first) // self.group
        divided = math.gcd(steps, self.group)
        # `start` is a multiple of the period, so the quotient has no remainder.
        code = self._source.code
        quotient = code.value(
            f"affine.apply affine_map<(d0) -> (d0 floordiv {self.group // divided})>({start})"
        )
        return code.sum([(quotient, steps // divided)], first // self.group)

    def _row(self, spot: Place, valid: int | None) -> str:
        """Returns a register's columns of a row of the operand."""
        source, code, lanes = self._source, self._source.code, self._lanes
        column, count = source.found.column, lanes if valid is None else valid
        if dict(source.buffer.access[-1])[column] == 1:
            return self._elements(spot, count)
        # Of every other element, two loads have a half each. They read nothing behind the last one.
        half = -(-count // 2)
        later = {**spot, column: code.sum([(spot[column], 1)], half)}
        first = self._elements(spot, 2 * half - 1)
        second = self._elements(later, 2 * (count - half) - 1)
        picked = [2 * position for position in range(half)]
        picked += [lanes + 2 * position for position in range(count - half)]
        picked += [0] * (lanes - count)
        vector = f"vector<{lanes}x{self._element}>"
        return code.value(f"vector.shuffle {first}, {second} {picked} : {vector}, {vector}")

    def _elements(self, spot: Place, count: int) -> str:
        """Returns `count` adjacent elements in the lanes of a vector; the others are zero."""
        source, code, lanes = self._source, self._source.code, self._lanes
        if count <= 0:
            return self._zeros()
        address = source.buffer.at(code, spot)
        return load(code, source.buffer, address, lanes, _mask(code, count, lanes), self._element)

    def _zeros(self) -> str:
        vector = f"vector<{self._lanes}x{self._element}>"
        return zeros(self._source.code, vector, self._element)

    def _zipped(self, left: str, right: str, unit: int) -> str:
        """Returns the elements of two vectors in turn, `unit` elements of each."""
        size = self._lanes * unit
        picked = [
            side * size + first + position
            for first in range(0, size, unit)
            for side in (0, 1)
            for position in range(unit)
        ]
        vector = f"vector<{size}x{self._element}>"
        return self._source.code.value(
            f"vector.shuffle {left}, {right} {picked} : {vector}, {vector}"
        )

    def _store(self, value: str, group: Index, lane: Index, valid: int | None) -> None:
        """Writes a group of a register's columns."""
        code, vector, size = self._source.code, self._vector, self._size
        if isinstance(self._element, ir.IntegerType):
            offset = code.constant("dense<-128>", vector)
            value = code.value(f"arith.xori {value}, {offset} : {vector}")
        address = f"{code.index(group)}, {code.index(code.sum([(lane, self.group)]))}"
        if valid is None:
            code.add(f"vector.store {value}, {self.value}[{address}] : {self.type}, {vector}")
            return
        mask = _mask(code, valid * self.group, size)
        code.add(
            f"vector.maskedstore {self.value}[{address}], {mask}, {value} : {self.type}, "
            f"vector<{size}xi1>, {vector}"
        )

    def _transpose(self, place: Place, count: int, offset: Index) -> None:
        """Copies columns that are contiguous along the sum: squares first, then the rest."""
        source, code = self._source, self._source.code
        size, column, (depth,) = self._size, source.found.column, source.found.depth
        lanes, steps = count // self._lanes * self._lanes, self.depth // size * size
        if lanes and steps:
            with code.loop(0, lanes, self._lanes) as lane, code.loop(0, steps, size) as step:
                spot = {**place, column: code.sum([(place[column], 1), (lane, 1)]), depth: step}
                self._transpose_square(spot, step, code.sum([(lane, 1), (offset, 1)]))
        else:
            lanes = steps = 0
        for (first, last), start in (((0, lanes), steps), ((lanes, count), 0)):
            if first == last or start == self.depth:
                continue
            with code.loop(first, last) as lane, code.loop(start, self.depth) as step:
                spot = {**place, column: code.sum([(place[column], 1), (lane, 1)]), depth: step}
                self._move(spot, step, code.sum([(lane, 1), (offset, 1)]))

    def _transpose_square(self, spot: Place, step: Index, lane: Index) -> None:
        """Copies as many columns as a register has lanes, and as many steps as it has elements."""
        source, code, side = self._source, self._source.code, self._lanes
        column, buffer = source.found.column, source.buffer
        words, rows = f"vector<{side}xi32>", []
        for row in range(side):
            address = buffer.at(code, {**spot, column: code.sum([(spot[column], 1)], row)})
            value = code.value(
                f"vector.load {buffer.value}[{address}] : {buffer.type}, {self._vector}"
            )
            rows.append(code.value(f"vector.bitcast {value} : {self._vector} to {words}"))
        rows = transposed(code, rows, words, side)
        group = self._quotient(step)
        for position, row in enumerate(rows):
            value = code.value(f"vector.bitcast {row} : {words} to {self._vector}")
            self._store(value, code.sum([(group, 1)], position), lane, None)

    def _move(self, spot: Place, step: Index, lane: Index) -> None:
        """Copies an element."""
        code, buffer = self._source.code, self._source.buffer
        value = code.value(f"memref.load {buffer.value}[{buffer.at(code, spot)}] : {buffer.type}")
        if isinstance(self._element, ir.IntegerType):
            value = code.value(f"arith.xori {value}, {code.constant('-128', 'i8')} : i8")
        group, step, lane = self._quotient(step), code.index(step), code.index(lane)
        place = code.value(
            f"affine.apply affine_map<(d0, d1) -> (d0 * {self.group} + d1 mod {self.group})>"
            f"({lane}, {step})"
        )
        code.add(f"memref.store {value}, {self.value}[{group}, {place}] : {self.type}")

    def _quotient(self, step: Index) -> str:
        """Returns the group of a step."""
        code = self._source.code
        return code.value(
            f"affine.apply affine_map<(d0) -> (d0 floordiv {self.group})>({code.index(step)})"
        )


@dataclass
class GroupPanelColumns:
    """Reads registers of a panel from a column on."""

    panel: GroupPanel
    position: Index

    def read(self, group: Index, offset: int) -> str:
        """Returns the register that starts `offset` columns behind the first one."""
        return self.panel.read(group, self.position, offset)

    def address(self, group: Index, offset: int) -> str:
        """Returns the indices of a group of the column that is `offset` behind the first one."""
        return self.panel.address(group, self.position, offset)


def _mask(code: Code, count: int, size: int) -> str | None:
    """Returns a mask of the first `count` elements of a vector; None if they are all."""
    if count == size:
        return None
    return code.value(f"vector.create_mask {code.index(count)} : vector<{size}xi1>")
