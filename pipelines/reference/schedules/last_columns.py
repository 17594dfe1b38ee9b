"""Sums the last few columns of a contraction along the depth instead of along the columns.

A vector that holds one column, such as the last of the 49 pixels of a 7 x 7 image, takes as long as
a full one. A sum along the depth uses all lanes: each adds every 16th product, and at the end the
lanes are added.
"""

from __future__ import annotations

from collections.abc import Sequence

from pipelines.reference.schedules.kernel import Kernel
from pipelines.reference.schedules.panel import Panel
from pipelines.reference.schedules.places import Buffer, Index, Place

# Maximum number of columns. With more, a vector of columns is as fast.
MOST = 4
# Minimum number of rows: with fewer, the copies of the columns take longer than they save.
ROWS = 32
# Minimum number of steps of a sum: with fewer, the additions of the lanes at its end do.
STEPS = 64
# Number of registers with sums, so that no addition waits for an earlier one.
_SUMS = 16


class LastColumns:
    """The last columns of a panel, each with contiguous elements along the depth."""

    def __init__(self, kernel: Kernel, lhs: Buffer, panel: Panel, count: int):
        """Allocates memory for `count` columns of a panel.

        Args:
            lhs: the left operand, whose elements of a sum are adjacent.
            panel: the right operand, with a static number of rows.
        """
        self._kernel, self._lhs, self._panel, self.count = kernel, lhs, panel, count
        length = -(-panel.rows // kernel.lanes) * kernel.lanes
        self._type = f"memref<{count}x{length}x{kernel.element}>"
        self._value = kernel.code.memory(self._type)
        self._vector = f"vector<{kernel.lanes}x{kernel.element}>"

    def fill(self, first: Index) -> None:
        """Copies the columns of the current block from the panel, with zeros up to a whole vector.

        Args:
            first: the panel's first one of them.
        """
        kernel, code, panel = self._kernel, self._kernel.code, self._panel
        depth = panel.steps
        with code.loop(0, self.count) as column:
            if depth % kernel.lanes:
                last = code.index(depth // kernel.lanes * kernel.lanes)
                code.add(
                    f"vector.store {kernel.zeros(self._vector)}, {self._value}"
                    f"[{code.index(column)}, {last}] : {self._type}, {self._vector}"
                )
            with code.loop(0, depth) as row:
                there = f"{code.index(row)}, {code.index(code.sum([(first, 1), (column, 1)]))}"
                number = code.value(f"memref.load {panel.value}[{there}] : {panel.type}")
                here = f"{code.index(column)}, {code.index(row)}"
                code.add(f"memref.store {number}, {self._value}[{here}] : {self._type}")

    def sums(
        self, rows: Sequence[Place], depths: dict[int, tuple[Index, Index]]
    ) -> list[list[str]]:
        """Emits the sums of the current block.

        Args:
            rows: the places of the rows.
            depths: the bounds of the dimensions of the depth.

        Returns:
            For each column the sums of all rows, which are vectors of one element.
        """
        first = {dimension: bounds[0] for dimension, bounds in depths.items()}
        rows = [{**place, **first} for place in rows]
        at_once = max(_SUMS // len(rows), 1)
        return [
            sums
            for start in range(0, self.count, at_once)
            for sums in self._sums(rows, range(start, min(start + at_once, self.count)))
        ]

    def _sums(self, rows: list[Place], columns: range) -> list[list[str]]:
        kernel, lanes = self._kernel, self._kernel.lanes
        whole, rest = divmod(self._panel.steps, lanes)
        sums = [kernel.zeros(self._vector)] * (len(columns) * len(rows))
        if whole:
            with kernel.code.accumulate(0, whole, sums, self._vector) as (index, state):
                self._add(state, rows, columns, kernel.code.sum([(index, lanes)]), None)
        if rest:
            self._add(sums, rows, columns, whole * lanes, rest)
        totals = [self._total(each) for each in sums]
        return [totals[at : at + len(rows)] for at in range(0, len(totals), len(rows))]

    def _add(
        self, sums: list[str], rows: list[Place], columns: range, step: Index, valid: int | None
    ) -> None:
        """Adds the products of a vector of steps to `sums`, in place.

        Args:
            step: the first of them.
            valid: their number, or None for all lanes.
        """
        kernel, code, lanes = self._kernel, self._kernel.code, self._kernel.lanes
        last = self._panel.innermost
        found = kernel.mask(lanes, valid)
        lefts = []
        for place in rows:
            # The index of the last dimension exceeds its size: the steps of a row are contiguous.
            spot = {**place, last: code.sum([(place[last], 1), (step, 1)])}
            lefts.append(kernel.load(self._lhs, self._lhs.at(code, spot), lanes, found))
        for position, column in enumerate(columns):
            here = f"{code.index(column)}, {code.index(step)}"
            right = code.value(f"vector.load {self._value}[{here}] : {self._type}, {self._vector}")
            for row, left in enumerate(lefts):
                at = position * len(rows) + row
                sums[at] = kernel.fused(left, right, sums[at], self._vector)

    def _total(self, value: str) -> str:
        """Adds the lanes of a vector."""
        kernel, width = self._kernel, self._kernel.lanes
        while width > 1:
            vector, half = f"vector<{width}x{kernel.element}>", width // 2
            low, high = (
                kernel.code.value(f"vector.shuffle {value}, {value} {picked} : {vector}, {vector}")
                for picked in ([*range(half)], [*range(half, width)])
            )
            width = half
            value = kernel.added(low, high, f"vector<{width}x{kernel.element}>")
        return value
