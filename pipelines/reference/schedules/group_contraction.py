"""The base class of contractions with an instruction that multiplies groups of adjacent steps.

The loops are those of `contraction.py`. A group of the left operand fills 32 bits. A lane of the
panel has a group of a column.
"""

from __future__ import annotations

from torch_mlir import ir

from pipelines.ir.contraction import Contraction
from pipelines.reference.schedules.contraction import ContractionKernel, is_plain
from pipelines.reference.schedules.group_panel import GroupPanel, fits
from pipelines.reference.schedules.machine import Machine
from pipelines.reference.schedules.places import Index, Place


class GroupContraction(ContractionKernel):
    """Builds the function of a contraction."""

    def __init__(
        self, function: ir.OpView, generic: ir.Operation, found: Contraction, machine: Machine
    ):
        super().__init__(function, generic, found, machine)
        self.sums_in_vectors = False
        self.depth_size = found.extent(found.depth)
        self.narrow = ir.MemRefType(self.lhs.type).element_type
        self.group = 32 // self.narrow.width
        # The types of a register: of sums, and of groups.
        self.vector = f"vector<{self.lanes}x{self.element}>"
        self.groups = f"vector<{self.lanes * self.group}x{self.narrow}>"

    def is_supported(self) -> bool:
        """Returns whether the sizes and layouts of the operands are supported.

        Sizes other than that of the rows must be known, and the left operand contiguous along the
        sum.
        """
        found = self.found
        sizes = [found.sizes[each] for each in (*found.columns, *found.depth)]
        return (
            None not in sizes
            and all(sizes)
            and all(is_plain(self.buffers[each].type) for each in (found.lhs, found.rhs, -1))
            and self.is_contiguous()
            and fits(self.source)
        )

    def panel(self, width: int) -> GroupPanel:
        """Returns a panel of `width` columns."""
        return GroupPanel(self.source, -(-width // self.lanes) * self.lanes)

    def left_at(self, place: Place, step: Index) -> str:
        """Returns the indices of a step of the sum: they exceed the size of the last axis."""
        return self.lhs.at(self.code, {**place, self.found.depth[-1]: step})
