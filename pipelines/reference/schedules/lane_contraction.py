"""The base class of contractions with an instruction that multiplies a group in each lane.

A step of the innermost loop takes a group of a row of the left operand, which fills 32 bits, and a
register of the panel, which has a group of each column.
"""

from __future__ import annotations

from abc import abstractmethod

from pipelines.reference.schedules.group_contraction import GroupContraction
from pipelines.reference.schedules.group_panel import GroupPanelColumns
from pipelines.reference.schedules.places import Index, Place, zeros


class LaneContraction(GroupContraction):
    """Builds the sums of a contraction from products of groups in lanes."""

    @abstractmethod
    def dot(self, total: str, right: str, left: str) -> str:
        """Adds to each lane the products of two groups."""

    def further_lefts(self, valid: int) -> list[str]:
        """Returns groups to multiply like those of the rows.

        Args:
            valid: the number of steps in the group.
        """
        return []

    def sums(self, places: list[Place], starts: range, reader: GroupPanelColumns) -> list[str]:
        """Emits the sums over the depth.

        Args:
            places: the rows.
            starts: the first columns of the registers.

        Returns:
            For each row, and then for each of `further_lefts`, a register for each start.
        """
        rows = len(places) + len(self.further_lefts(self.group))
        sums = [self.zeros(self.vector)] * (rows * len(starts))
        groups, rest = divmod(self.depth_size, self.group)
        if groups:
            with self.code.accumulate(0, groups, sums, self.vector) as (group, state):
                lefts = [self._spread(self._group(place, group)) for place in places]
                self._add(state, lefts, self.group, group, starts, reader)
        if rest:
            lefts = [self._spread(self._last(place, groups, rest)) for place in places]
            self._add(sums, lefts, rest, groups, starts, reader)
        return sums

    def _add(
        self,
        sums: list[str],
        lefts: list[str],
        valid: int,
        group: Index,
        starts: range,
        reader: GroupPanelColumns,
    ) -> None:
        """Adds the products of a group of steps to `sums`, in place.

        Args:
            lefts: for each row, the group of the left operand in all lanes.
            valid: the number of steps in the group.
        """
        rights = [reader.read(group, start) for start in starts]
        for row, left in enumerate([*lefts, *self.further_lefts(valid)]):
            for position, right in enumerate(rights):
                place = row * len(rights) + position
                sums[place] = self.dot(sums[place], right, left)

    def _group(self, place: Place, group: Index) -> str:
        """Returns a group of the left operand."""
        step = self.code.sum([(group, self.group)])
        return self.code.value(
            f"vector.load {self.lhs.value}[{self.left_at(place, step)}] : {self.lhs.type}, "
            f"vector<{self.group}x{self.narrow}>"
        )

    def _last(self, place: Place, groups: int, count: int) -> str:
        """Returns the last steps of the left operand, fewer than a group, and zeros."""
        code, vector = self.code, f"vector<{self.group}x{self.narrow}>"
        value = zeros(code, vector, self.narrow)
        for position in range(count):
            address = self.left_at(place, groups * self.group + position)
            step = code.value(f"memref.load {self.lhs.value}[{address}] : {self.lhs.type}")
            value = code.value(
                f"vector.insert {step}, {value} [{position}] : {self.narrow} into {vector}"
            )
        return value

    def _spread(self, group: str) -> str:
        """Returns a register with a group in each lane."""
        code, words = self.code, f"vector<{self.lanes}xi32>"
        word = code.value(
            f"vector.bitcast {group} : vector<{self.group}x{self.narrow}> to vector<1xi32>"
        )
        word = code.value(f"vector.extract {word}[0] : i32 from vector<1xi32>")
        spread = code.value(f"vector.broadcast {word} : i32 to {words}")
        return code.value(f"vector.bitcast {spread} : {words} to {self.groups}")
