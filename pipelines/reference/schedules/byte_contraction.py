"""Rewrites contractions of signed bytes with the instruction that multiplies four pairs of bytes.

These are the products and convolutions of integer programs:

    out += sum of (lhs - zero of lhs) * (rhs - zero of rhs)

A register of the panel has four bytes of each column plus 128 (`lane_contraction.py`). With
`panel = rhs + 128` and `shift = zero of rhs + 128`, the sum over `depth` products is

    sum of lhs * panel - shift * (sum of lhs - depth * zero of lhs) - zero of lhs * sum of panel

The second term is one number for each row, the third one for each column. Often, both factors are
zero: weights are symmetric, and the zero of a result of ReLU is -128.
"""

from __future__ import annotations

from torch_mlir import ir

from pipelines.ir.contraction import Contraction, find_byte_contraction
from pipelines.reference.schedules.group_panel import GroupPanelColumns
from pipelines.reference.schedules.lane_contraction import LaneContraction
from pipelines.reference.schedules.machine import Machine
from pipelines.reference.schedules.places import Buffer, Index, Place, load

# Number of rows below which filling the panel takes longer than the sums.
_FEWEST_ROWS = 4


def rewrite(function: ir.OpView, generic: ir.Operation, machine: Machine) -> str | None:
    """Returns the text of the function with the contraction as loops over vectors.

    Returns:
        None if the processor has no such instruction, and for other operations, sizes and layouts.
    """
    found = find_byte_contraction(generic) if machine.dots else None
    if found is None:
        return None
    contraction, zeros = found
    if contraction.extent(contraction.rows) < _FEWEST_ROWS:
        return None
    kernel = _ByteContraction(function, generic, contraction, machine, zeros)
    return kernel.text(copied=True) if kernel.is_supported() else None


class _ByteContraction(LaneContraction):
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
        self._zero, self._shift = zeros[0], zeros[1] + 128

    def tile(
        self,
        places: list[Place],
        width: int,
        valid: Index | None,
        reader: GroupPanelColumns,
        depths: dict[int, tuple[Index, Index]],
        block: Index,
        out: Buffer,
    ) -> None:
        """Emits the sums of one tile, some registers for each row."""
        code, lanes = self.code, self.lanes
        count = width if valid is None else valid
        starts = range(0, count, lanes)
        sums = self.sums(places, starts, reader)
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
                    total = self.added(before, total, self.vector)
                self.store(total, out, address, lanes, mask)

    def further_lefts(self, valid: int) -> list[str]:
        """Returns ones, which make the sums of the columns, if the left zero point is not 0."""
        if not self._zero:
            return []
        ones = [1] * valid + [0] * (self.group - valid)
        return [self.code.constant(f"dense<{ones * self.lanes}>", self.groups)]

    def dot(self, total: str, right: str, left: str) -> str:
        """Adds to each lane the products of four unsigned bytes with four signed ones, `left`."""
        name = f"llvm.x86.avx512.vpdpbusd.{self.machine.vector_bytes * 8}"
        return self.code.value(
            f'llvm.call_intrinsic "{name}"({total}, {right}, {left}) : ({self.vector}, '
            f"{self.groups}, {self.groups}) -> {self.vector}"
        )

    def _of_row(self, place: Place) -> str:
        """Returns the term of a row in each lane, which is subtracted from the sums."""
        code, size = self.code, self.machine.vector_bytes
        whole = self.depth_size // size * size
        ones, sums = code.constant("dense<1>", self.groups), [self.zeros(self.vector)]
        if whole:
            with code.accumulate(0, whole // size, sums, self.vector) as (part, state):
                address = self.left_at(place, code.sum([(part, size)]))
                state[0] = self.dot(state[0], ones, self._loaded(address, None))
        if rest := self.depth_size - whole:
            mask = code.value(f"vector.create_mask {code.index(rest)} : vector<{size}xi1>")
            sums[0] = self.dot(sums[0], ones, self._loaded(self.left_at(place, whole), mask))
        total = code.value(f"vector.reduction <add>, {sums[0]} : {self.vector} into i32")
        spread = code.value(f"vector.broadcast {total} : i32 to {self.vector}")
        if self._zero:
            offset = code.constant(f"dense<{self.depth_size * self._zero}>", self.vector)
            spread = self._minus(spread, offset)
        return self._times(spread, self._shift)

    def _loaded(self, address: str, mask: str | None) -> str:
        return load(self.code, self.lhs, address, self.machine.vector_bytes, mask, self.narrow)

    def _times(self, value: str, number: int) -> str:
        factor = self.code.constant(f"dense<{number}>", self.vector)
        return self.code.value(f"arith.muli {value}, {factor} : {self.vector}")

    def _minus(self, value: str, other: str) -> str:
        return self.code.value(f"arith.subi {value}, {other} : {self.vector}")
