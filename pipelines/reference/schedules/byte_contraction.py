"""Rewrites contractions of signed bytes with the instruction that multiplies four pairs of bytes.

These are the products and convolutions of integer programs:

    out += sum of (lhs - zero of lhs) * (rhs - zero of rhs)

The loops are those of `contraction.py`. A step of the innermost one takes four bytes of a row of
the left operand, and a register of the panel, which has four bytes of each column plus 128. With
`panel = rhs + 128` and `shift = zero of rhs + 128`, the sum over `depth` products is

    sum of lhs * panel - shift * (sum of lhs - depth * zero of lhs) - zero of lhs * sum of panel

The second term is one number for each row, the third one for each column. Often, both factors are
zero: weights are symmetric, and the zero of a result of ReLU is -128.
"""

from __future__ import annotations

import math

from torch_mlir import ir

from pipelines.ir.contraction import Contraction, find_byte_contraction
from pipelines.reference.schedules.byte_panel import GROUP, BytePanel, BytePanelColumns, fits
from pipelines.reference.schedules.contraction import ContractionKernel, is_plain
from pipelines.reference.schedules.machine import Machine
from pipelines.reference.schedules.places import Buffer, Index, Place, load

# Number of rows below which filling the panel takes longer than the sums.
_FEWEST_ROWS = 4


def rewrite(function: ir.OpView, generic: ir.Operation, machine: Machine) -> str | None:
    """Returns the text of the function with the contraction as loops over vectors.

    Returns:
        None if the processor has no such instruction, and for other operations: sizes other than
        that of the rows must be known, and the left operand contiguous along the sum.
    """
    found = find_byte_contraction(generic) if machine.dots else None
    if found is None:
        return None
    contraction, zeros = found
    operands = [generic.operands[position] for position in (0, 1, -1)]
    if not all(is_plain(operand.type) for operand in operands):
        return None
    sizes = [contraction.sizes[each] for each in (*contraction.columns, *contraction.depth)]
    if None in sizes or not all(sizes) or contraction.extent(contraction.rows) < _FEWEST_ROWS:
        return None
    kernel = _ByteContraction(function, generic, contraction, machine, zeros)
    if not (kernel.is_contiguous() and fits(kernel.source)):
        return None
    return kernel.text(copied=True)


class _ByteContraction(ContractionKernel):
    """Builds the function of a contraction of bytes."""

    def __init__(
        self,
        function: ir.OpView,
        generic: ir.Operation,
        found: Contraction,
        machine: Machine,
        zeros: tuple[int, int],
    ):
        """Arguments as for `Kernel`.

        Args:
            zeros: the zero points of the left and the right operand.
        """
        super().__init__(function, generic, found, machine)
        self._depth_size = math.prod(found.sizes[dimension] for dimension in found.depth)
        self._zero, self._shift = zeros[0], zeros[1] + 128
        self._vector = f"vector<{self.lanes}xi32>"
        self._bytes = f"vector<{machine.vector_bytes}xi8>"

    def panel(self, width: int) -> BytePanel:
        """Returns a panel of `width` columns."""
        return BytePanel(self.source, -(-width // self.lanes) * self.lanes)

    def tile(
        self,
        places: list[Place],
        width: int,
        valid: Index | None,
        reader: BytePanelColumns,
        depths: dict[int, tuple[Index, Index]],
        block: Index,
        out: Buffer,
    ) -> None:
        """Emits the sums of one tile, some registers for each row."""
        code, lanes = self.code, self.lanes
        count = width if valid is None else valid
        starts = range(0, count, lanes)
        rows = len(places) + (self._zero != 0)
        sums = [self.zeros(self._vector)] * (rows * len(starts))
        groups, rest = divmod(self._depth_size, GROUP)
        if groups:
            with code.accumulate(0, groups, sums, self._vector) as (group, state):
                lefts = [self._spread(self._group(place, group)) for place in places]
                self._add(state, lefts, GROUP, group, starts, reader)
        if rest:
            lefts = [self._spread(self._last(place, groups, rest)) for place in places]
            self._add(sums, lefts, rest, groups, starts, reader)
        of_columns = sums[len(places) * len(starts) :]
        for row, place in enumerate(places):
            of_row = self._of_row(place) if self._shift else None
            for position, start in enumerate(starts):
                total = sums[row * len(starts) + position]
                if self._zero:
                    total = self._minus(total, self._times(of_columns[position], self._zero))
                if of_row is not None:
                    total = self._minus(total, of_row)
                column = code.sum([(place[self.found.column], 1)], start)
                address = out.at(code, {**place, self.found.column: column})
                mask = self.mask(lanes, min(count - start, lanes))
                if not self.starts_at_zero:
                    before = self.load(out, address, lanes, mask)
                    total = self.added(before, total, self._vector)
                self.store(total, out, address, lanes, mask)

    def _add(
        self,
        sums: list[str],
        lefts: list[str],
        valid: int,
        group: Index,
        starts: range,
        reader: BytePanelColumns,
    ) -> None:
        """Adds the products of a group of steps to `sums`, in place.

        Args:
            lefts: for each row, the group of the left operand in all lanes.
            valid: the number of steps in the group.
        """
        if self._zero:
            ones = [1] * valid + [0] * (GROUP - valid)
            lefts = [*lefts, self.code.constant(f"dense<{ones * self.lanes}>", self._bytes)]
        rights = [reader.read(group, start) for start in starts]
        for row, left in enumerate(lefts):
            for position, right in enumerate(rights):
                place = row * len(rights) + position
                sums[place] = self._dot(sums[place], right, left)

    def _dot(self, total: str, right: str, left: str) -> str:
        """Adds to each lane the products of four unsigned bytes with four signed ones, `left`."""
        name = f"llvm.x86.avx512.vpdpbusd.{self.machine.vector_bytes * 8}"
        return self.code.value(
            f'llvm.call_intrinsic "{name}"({total}, {right}, {left}) : ({self._vector}, '
            f"{self._bytes}, {self._bytes}) -> {self._vector}"
        )

    def _group(self, place: Place, group: Index) -> str:
        """Returns four bytes of the left operand."""
        step = self.code.sum([(group, GROUP)])
        return self.code.value(
            f"vector.load {self.lhs.value}[{self._at(place, step)}] : {self.lhs.type}, "
            f"vector<{GROUP}xi8>"
        )

    def _last(self, place: Place, groups: int, count: int) -> str:
        """Returns the last bytes of the left operand, less than four, and zeros."""
        code, vector = self.code, f"vector<{GROUP}xi8>"
        value = code.constant("dense<0>", vector)
        for position in range(count):
            address = self._at(place, groups * GROUP + position)
            byte = code.value(f"memref.load {self.lhs.value}[{address}] : {self.lhs.type}")
            value = code.value(f"vector.insert {byte}, {value} [{position}] : i8 into {vector}")
        return value

    def _at(self, place: Place, step: Index) -> str:
        """Returns the indices of a step of the sum: they exceed the size of the last axis."""
        return self.lhs.at(self.code, {**place, self.found.depth[-1]: step})

    def _spread(self, group: str) -> str:
        """Returns a register with four bytes in each lane."""
        code = self.code
        word = code.value(f"vector.bitcast {group} : vector<{GROUP}xi8> to vector<1xi32>")
        word = code.value(f"vector.extract {word}[0] : i32 from vector<1xi32>")
        words = code.value(f"vector.broadcast {word} : i32 to {self._vector}")
        return code.value(f"vector.bitcast {words} : {self._vector} to {self._bytes}")

    def _of_row(self, place: Place) -> str:
        """Returns the term of a row in each lane, which is subtracted from the sums."""
        code, size = self.code, self.machine.vector_bytes
        whole = self._depth_size // size * size
        ones, sums = code.constant("dense<1>", self._bytes), [self.zeros(self._vector)]
        if whole:
            with code.accumulate(0, whole // size, sums, self._vector) as (part, state):
                address = self._at(place, code.sum([(part, size)]))
                state[0] = self._dot(state[0], ones, self._loaded(address, None))
        if rest := self._depth_size - whole:
            mask = code.value(f"vector.create_mask {code.index(rest)} : vector<{size}xi1>")
            sums[0] = self._dot(sums[0], ones, self._loaded(self._at(place, whole), mask))
        total = code.value(f"vector.reduction <add>, {sums[0]} : {self._vector} into i32")
        spread = code.value(f"vector.broadcast {total} : i32 to {self._vector}")
        if self._zero:
            offset = code.constant(f"dense<{self._depth_size * self._zero}>", self._vector)
            spread = self._minus(spread, offset)
        return self._times(spread, self._shift)

    def _loaded(self, address: str, mask: str | None) -> str:
        byte = ir.MemRefType(self.lhs.type).element_type
        return load(self.code, self.lhs, address, self.machine.vector_bytes, mask, byte)

    def _times(self, value: str, number: int) -> str:
        factor = self.code.constant(f"dense<{number}>", self._vector)
        return self.code.value(f"arith.muli {value}, {factor} : {self._vector}")

    def _minus(self, value: str, other: str) -> str:
        return self.code.value(f"arith.subi {value}, {other} : {self._vector}")
