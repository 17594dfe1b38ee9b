"""Rewrites contractions with register tiles: matrix products of every layout, and convolutions.

A tile of the result stays in vector registers during the loops over the summed dimensions. Each
step loads one vector of the right operand, and one number of the left operand for each row. The
right operand is first copied to a panel. Its vectors are contiguous there, and stay in the cache
while all rows use them. Convolutions only differ in how they fill the panel. For few rows, there is
no panel: the right operand is read in place.

    for batch, for block of the depth, for panel of columns:
        panel[depth, column] = rhs[...]
        for tile of rows, for tile of columns:
            sums = out[rows, columns]
            for depth:
                sums[row] += lhs[row, depth] * panel[depth, columns]
            out[rows, columns] = sums
"""

from __future__ import annotations

import math

from torch_mlir import ir

from pipelines.ir.contraction import Contraction, find_contraction, indexing_maps
from pipelines.reference.schedules.kernel import Kernel
from pipelines.reference.schedules.machine import Machine
from pipelines.reference.schedules.panel import CHAIN, InPlace, Panel, PanelColumns, Source, written
from pipelines.reference.schedules.places import (
    Buffer,
    Index,
    Nest,
    Place,
    Ranges,
    load_number,
    sum_of_dimensions,
)

# Number of rows up to which copying the right operand costs more than it saves.
_FEW_ROWS = 16
# Size of an image below which all columns share a panel.
_SMALL = 28 * 28


def rewrite(function: ir.OpView, generic: ir.Operation, machine: Machine) -> str | None:
    """Returns the text of the function with the contraction as loops over vectors.

    Returns:
        None if plain loops are as fast: products of a vector with a matrix that is contiguous
        along the sum, and windows over single channels. Also None for other operations.
    """
    found = find_contraction(generic)
    if found is None:
        return None
    maps = indexing_maps(generic)
    last = sum_of_dimensions(list(maps[found.rhs].results)[-1])
    contiguous = (found.column, 1) in last
    rows = found.extent(found.rows)
    if rows < 2 and (found.windows or not contiguous):
        return None
    if not all(is_plain(operand.type) for operand in generic.operands):
        return None
    kernel = ContractionKernel(function, generic, found, machine)
    # In place, a register holds the whole sum.
    is_long = found.windows and found.extent(found.depth) > CHAIN
    return kernel.text(copied=not contiguous or rows > _FEW_ROWS or is_long)


def is_plain(memref: ir.Type) -> bool:
    """Returns whether the innermost dimension is contiguous."""
    shape = ir.MemRefType(memref)
    return shape.rank > 0 and shape.get_strides_and_offset()[0][-1] == 1


class ContractionKernel(Kernel):
    """Builds the function of a contraction."""

    def __init__(
        self, function: ir.OpView, generic: ir.Operation, found: Contraction, machine: Machine
    ):
        super().__init__(function, generic, machine)
        self.found = found
        self.lhs, self.out = self.buffers[found.lhs], self.buffers[-1]
        self.source = Source(
            self.code, found, self.buffers[found.rhs], self.sizes, self.element, machine
        )

    def text(self, *, copied: bool) -> str:
        """Returns the whole function."""
        found, code = self.found, self.code
        shared, group = self._shared_columns() if copied else ([], 1)
        outer = [*found.batch, *(d for d in found.columns if d not in shared)]
        outer = [d for d in outer if d != found.column]
        rows = [d for d in found.rows if d != self.main_row()]
        with Nest(code, outer, self.sizes) as place:
            if not copied:
                with Nest(code, rows, self.sizes, place) as inner:
                    self._direct(inner)
            elif shared:
                with code.loop(0, found.sizes[shared[0]], group) as start:
                    self._with_shared_panel({**place, shared[0]: start}, shared, group, rows)
            else:
                self._with_panels(place, rows)
        return self.end()

    def main_row(self) -> int | None:
        """Returns the longest dimension of the rows, whose steps are the rows of a tile."""
        return max(self.found.rows, key=lambda d: self.found.sizes[d] or 1 << 40, default=None)

    def _shared_columns(self) -> tuple[list[int], int]:
        """Returns the column dimensions that fill one panel together, none if there is only one.

        A row of an image that is no multiple of a register would leave parts of registers unused.
        The second result is how many steps of the first of these dimensions a panel holds: all of a
        small image, or the number of rows with the least unused parts.
        """
        found = self.found
        if not found.windows:
            return [], 1
        strides, _ = ir.MemRefType(self.out.type).get_strides_and_offset()
        shared: list[int] = []
        expected = 1
        for terms, stride in zip(reversed(self.out.access), reversed(strides), strict=True):
            dimension = terms[0][0] if len(terms) == 1 else None
            if dimension not in found.columns or stride != expected:
                break
            if found.sizes[dimension] is None:
                return [], 1
            shared.insert(0, dimension)
            expected *= found.sizes[dimension]
        if len(shared) < 2:
            return [], 1
        if expected < _SMALL:
            return shared, found.sizes[shared[0]]
        height, width = (found.sizes[dimension] for dimension in shared[-2:])
        groups = [count for count in range(1, height + 1) if height % count == 0]
        group = min(groups, key=lambda count: -(-count * width // self.lanes) / count)
        return (shared[-2:], group) if group > 1 else ([], 1)

    def panel(self, width: int) -> Panel:
        """Returns a panel of `width` columns."""
        return Panel(self.source, width)

    # Panels -------------------------------------------------------------------------------------

    def _with_panels(self, place: Place, rows: list[int]) -> None:
        """Emits loops with a panel for each tile of columns."""
        code, column = self.code, self.found.column
        size = self.sizes[column]
        width, height = self.machine.tile(
            self.source.item, self.found.sizes[column], self._known_rows()
        )
        panel = self.panel(width)
        for first, last, step in panel.blocks():
            with code.loop(first, last, step) as block:
                depths = panel.bounds(block, step)
                for start, count in self.columns(size, width):
                    with code.loop(*start, width) as position:
                        there = {**place, column: position}
                        panel.fill(there, depths, width if count is None else count)
                        with Nest(code, rows, self.sizes, place) as inner:
                            inner = {**inner, column: position}
                            reader = panel.columns(0)
                            self._rows(inner, height, width, count, reader, depths, block)
        panel.free()

    def _with_shared_panel(
        self, place: Place, shared: list[int], group: int, rows: list[int]
    ) -> None:
        """Emits loops with one panel for several rows of an image, or all of it.

        Args:
            place: where the first shared dimension starts.
            group: how many of its steps the panel holds.
        """
        code, found = self.code, self.found
        counts = [group, *(found.sizes[d] for d in shared[1:])]
        count = math.prod(counts)
        width, height = self.machine.tile(self.source.item, count, self._known_rows())
        columns = found.sizes[found.column]
        needed = count - columns + written(columns, self.lanes)
        panel = self.panel(-(-needed // width) * width)
        flat = self._flat_output(len(shared))
        # The first column of the panel in the flat result.
        origin = code.sum([(place[shared[0]], count // group)])
        ranges = {d: (0, size) for d, size in zip(shared, counts, strict=True)}
        for first, last, step in panel.blocks():
            with code.loop(first, last, step) as block:
                depths = panel.bounds(block, step)
                with Ranges(code, shared[:-1], ranges) as steps:
                    offset = code.sum(
                        [
                            (steps[d], math.prod(counts[position + 1 :]))
                            for position, d in enumerate(shared[:-1])
                        ]
                    )
                    start = code.sum([(place[shared[0]], 1), (steps[shared[0]], 1)])
                    there = {**place, **steps, shared[0]: start, found.column: 0}
                    panel.fill(there, depths, columns, offset)
                with Nest(code, rows, self.sizes, place) as inner:
                    for tiles, size in self.columns(count, width):
                        with code.loop(*tiles, width) as position:
                            self._rows(
                                {**inner, found.column: code.sum([(origin, 1), (position, 1)])},
                                height,
                                width,
                                size,
                                panel.columns(position),
                                depths,
                                block,
                                flat,
                            )
        panel.free()

    def _flat_output(self, axes: int) -> Buffer:
        """Returns the result with its last axes collapsed to one."""
        old = ir.MemRefType(self.out.type)
        kept = old.rank - axes
        groups = [[axis] for axis in range(kept)] + [list(range(kept, old.rank))]
        shape = [*old.shape[:kept], math.prod(old.shape[kept:])]
        strides, offset = old.get_strides_and_offset()
        layout = ir.StridedLayoutAttr.get(offset, [*strides[:kept], 1])
        identity = old.layout == ir.MemRefType.get(old.shape, old.element_type).layout
        new = ir.MemRefType.get(shape, old.element_type, None if identity else layout)
        value = self.code.value(
            f"memref.collapse_shape {self.out.value} {groups} : {self.out.type} into {new}"
        )
        return Buffer(value, new, [*self.out.access[:kept], [(self.found.column, 1)]])

    def _direct(self, place: Place) -> None:
        """Emits loops for few rows, which read the right operand in place."""
        code, column = self.code, self.found.column
        size = self.sizes[column]
        width, height = self.machine.tile(
            self.source.item, self.found.sizes[column], self._known_rows()
        )
        if height == 1:
            width = min(4 * width, self.machine.registers // 2 * self.machine.vector_bytes)
        full = {d: (0, self.sizes[d]) for d in self.found.depth}
        for start, count in self.columns(size, width):
            with code.loop(*start, width) as position:
                here = {**place, column: position}
                self._rows(here, height, width, count, InPlace(self.source), full, 0)

    def _known_rows(self) -> int | None:
        row = self.main_row()
        return 1 if row is None else self.found.sizes[row]

    # Tiles --------------------------------------------------------------------------------------

    def _rows(
        self,
        place: Place,
        height: int,
        width: int,
        valid: Index | None,
        reader: InPlace | PanelColumns,
        depths: dict[int, tuple[Index, Index]],
        block: Index,
        out: Buffer | None = None,
    ) -> None:
        """Emits the loops over all rows of one tile of columns.

        Args:
            block: where the block of the depth starts. The first block starts at 0.
        """
        code, row = self.code, self.main_row()
        out = out or self.out
        if row is None:
            self.tile([place], width, valid, reader, depths, block, out)
            return
        for (first, last), step in self.rows(self.sizes[row], height):
            with code.loop(first, last, step) as start:
                places = [{**place, row: code.sum([(start, 1)], offset)} for offset in range(step)]
                self.tile(places, width, valid, reader, depths, block, out)

    def tile(
        self,
        places: list[Place],
        width: int,
        valid: Index | None,
        reader: InPlace | PanelColumns,
        depths: dict[int, tuple[Index, Index]],
        block: Index,
        out: Buffer,
    ) -> None:
        """Emits the sums of one tile, a vector for each row."""
        code = self.code
        width = self.rounded(width, valid)
        vector = f"vector<{width}x{self.element}>"
        mask = self.mask(width, valid)
        addresses = [out.at(code, place) for place in places]
        sums = [self.zeros(vector)] * len(places)
        self._depth(list(depths), places, depths, sums, vector, width, mask, reader)
        if not self.starts_at_zero or block != 0:
            before = self._before(out, addresses, width, mask, block)
            sums = [self.added(*pair, vector) for pair in zip(before, sums, strict=True)]
        for address, total in zip(addresses, sums, strict=True):
            self.store(total, out, address, width, mask)

    def _before(
        self, out: Buffer, addresses: list[str], width: int, mask: str | None, block: Index
    ) -> list[str]:
        """Emits reads of the sums of earlier blocks, or zeros in the first block."""
        code = self.code
        if not self.starts_at_zero or isinstance(block, int):
            return [self.load(out, address, width, mask) for address in addresses]
        vector = f"vector<{width}x{self.element}>"
        zero, types = self.zeros(vector), ", ".join([vector] * len(addresses))
        is_first = code.value(f"arith.cmpi eq, {block}, {code.index(0)} : index")
        result = code.name()
        code.add(f"{result}:{len(addresses)} = scf.if {is_first} -> ({types}) {{")
        code.add(f"scf.yield {', '.join([zero] * len(addresses))} : {types}")
        code.add("} else {")
        loaded = [self.load(out, address, width, mask) for address in addresses]
        code.add(f"scf.yield {', '.join(loaded)} : {types}")
        code.add("}")
        return [f"{result}#{position}" for position in range(len(addresses))]

    def _depth(
        self,
        dimensions: list[int],
        places: list[Place],
        depths: dict[int, tuple[Index, Index]],
        sums: list[str],
        vector: str,
        width: int,
        mask: str | None,
        reader: InPlace | PanelColumns,
    ) -> None:
        """Emits the loops over the depth. Replaces the values in `sums`, one for each place."""
        code = self.code
        if not dimensions:
            right = reader.read(places[0], vector, width, mask)
            for row, place in enumerate(places):
                left = load_number(code, self.lhs, self.lhs.at(code, place), self.element)
                spread = code.value(f"vector.broadcast {left} : {self.element} to {vector}")
                sums[row] = self.fused(spread, right, sums[row], vector)
            return
        dimension, *inner = dimensions
        with code.accumulate(*depths[dimension], sums, vector) as (index, state):
            deeper = [{**place, dimension: index} for place in places]
            self._depth(inner, deeper, depths, state, vector, width, mask, reader)
