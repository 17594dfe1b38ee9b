"""Rewrites contractions with register tiles: matrix products of every layout, and convolutions.

A tile of the result stays in vector registers during the loops over the summed dimensions. Each
step loads two or three registers of the right operand, and one number of the left operand for each
row. The right operand is first copied to a panel. Its vectors are contiguous there, and stay in the
cache while all rows use them. Convolutions only differ in how they fill the panel. For few rows,
there is no panel: the right operand is read in place. A few columns behind the last whole register
are summed along the depth (`last_columns.py`).

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
from collections.abc import Iterator

from torch_mlir import ir

from pipelines.ir.contraction import Contraction, find_contraction, indexing_maps
from pipelines.reference.schedules.kernel import Kernel
from pipelines.reference.schedules.last_columns import MOST, ROWS, STEPS, LastColumns
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
from pipelines.reference.schedules.prefetch import NextPanel, NextRows, is_prefetched

# An attribute of a part of a contraction: the number of rows of the whole. The order of additions
# depends on it, so that the result is the same for any number of threads.
ALL_ROWS = "unmess.all_rows"
# Number of rows up to which copying the right operand costs more than it saves.
_FEW_ROWS = 16
# Bytes of a panel that stays in the first-level cache.
_SMALL_PANEL = 32 * 1024
# With more registers of columns, a last tile of one register takes little of the time.
_MANY_REGISTERS = 16
# Size of an image below which all columns share a panel.
SMALL = 28 * 28


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
    rows = all_rows(generic, found)
    if rows < 2 and (found.windows or not contiguous):
        return None
    if not all(is_plain(operand.type) for operand in generic.operands):
        return None
    kernel = ContractionKernel(function, generic, found, machine)
    # In place, a register holds the whole sum.
    is_long = found.windows and found.extent(found.depth) > CHAIN
    return kernel.text(copied=not contiguous or rows > _FEW_ROWS or is_long)


def rows_of_panel(height: int, width: int, lanes: int) -> int:
    """Returns the number of rows of a large image with the least unused lanes of registers.

    It divides the height. It is the same for a part of the image, if it divides that height.
    """
    groups = [count for count in range(1, height + 1) if height % count == 0]
    return min(groups, key=lambda count: -(-count * width // lanes) / count)


def all_rows(generic: ir.Operation, found: Contraction) -> float:
    """Returns the number of rows of the whole contraction; infinity if it is dynamic."""
    if ALL_ROWS in generic.attributes:
        return ir.IntegerAttr(generic.attributes[ALL_ROWS]).value
    return found.extent(found.rows)


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
        self._all_rows = all_rows(generic, found)
        # Those of the current tile.
        self._prefetches: NextPanel | NextRows | None = None
        # Whether the last columns may be summed along the depth, or have a register of their own.
        self.sums_in_vectors = isinstance(self.element, ir.FloatType)
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
        if expected < SMALL:
            return shared, found.sizes[shared[0]]
        height, width = (found.sizes[dimension] for dimension in shared[-2:])
        group = rows_of_panel(height, width, self.lanes)
        return (shared[-2:], group) if group > 1 else ([], 1)

    def panel(self, width: int) -> Panel:
        """Returns a panel of `width` columns."""
        return Panel(self.source, width)

    def shape(self, columns: int | None) -> tuple[int, int]:
        """Returns the columns and rows of a tile of the result.

        Args:
            columns: the number of all columns, None if dynamic.
        """
        return self.machine.tile(self.source.item, columns, self._known_rows())

    def _wide(self, columns: int | None, shape: tuple[int, int]) -> tuple[int, int]:
        """Returns a tile with three registers for each row, instead of two, or the given tile.

        A wider tile loads fewer numbers for each product. With a short sum, two registers are as
        fast, because the panel then stays in the first-level cache.

        Args:
            columns: the number of all columns, None if dynamic.
            shape: the columns and rows of the given tile.
        """
        width, height = shape
        if columns is None or not self.sums_in_vectors or width != 2 * self.lanes:
            return shape
        is_long = self.found.extent(self.found.depth) * width * self.source.item > _SMALL_PANEL
        # A single last register would be a tile of its own, with too few sums.
        registers = -(-columns // self.lanes)
        fits = registers % 3 != 1 or registers > _MANY_REGISTERS
        has_room = 3 * height + 4 <= self.machine.registers
        return (3 * self.lanes, height) if is_long and fits and has_room else shape

    # Panels -------------------------------------------------------------------------------------

    def _with_panels(self, place: Place, rows: list[int]) -> None:
        """Emits loops with a panel for each tile of columns."""
        code, column = self.code, self.found.column
        size = self.sizes[column]
        columns = self.found.sizes[column]
        shape = self._wide(columns, self.shape(columns))
        width = shape[0]
        panel = self.panel(width)
        last = self._last_columns(panel, size)
        for first, end, step in panel.blocks():
            with code.loop(first, end, step) as block:
                depths = panel.bounds(block, step)
                for start, count in self.columns(size, width):
                    with code.loop(*start, width) as position:
                        there = {**place, column: position}
                        valid = width if count is None else count
                        panel.fill(there, depths, valid)
                        # The tiles before the last one have only whole registers.
                        others = None if count is None else last
                        if others is not None:
                            others.fill(valid - others.count)
                        with Nest(code, rows, self.sizes, there) as inner:
                            self._tiles(inner, valid, shape, panel, others, depths, block, self.out)
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
        shape = self.shape(count)
        columns = found.sizes[found.column]
        needed = count - columns + written(columns, self.lanes)
        panel = self.panel(-(-needed // shape[0]) * shape[0])
        last = self._last_columns(panel, count)
        flat = self._flat_output(len(shared))
        # The first column of the panel in the flat result.
        origin = code.sum([(place[shared[0]], count // group)])
        ranges = {d: (0, size) for d, size in zip(shared, counts, strict=True)}
        for first, end, step in panel.blocks():
            with code.loop(first, end, step) as block:
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
                if last is not None:
                    last.fill(count - last.count)
                with Nest(code, rows, self.sizes, {**place, found.column: origin}) as inner:
                    self._tiles(inner, count, shape, panel, last, depths, block, flat)
        panel.free()

    def _last_columns(self, panel: Panel, count: Index) -> LastColumns | None:
        """Returns the columns of a panel that are summed along the depth, or None.

        Args:
            count: the number of all columns.
        """
        is_static = isinstance(count, int) and self.found.extent(self.found.depth) < math.inf
        if not self.sums_in_vectors or not is_static:
            return None
        few = count % self.lanes
        deep = panel.rows >= STEPS and panel.is_range
        if not 0 < few <= min(MOST, self.lanes // 2) or self._all_rows < ROWS:
            return None
        return LastColumns(self, self.lhs, panel, few) if deep and self.is_contiguous() else None

    def is_contiguous(self) -> bool:
        """Returns whether the left operand's elements of a sum are adjacent, step by step."""
        if self.lhs.access[-1] != [(self.found.depth[-1], 1)]:
            return False
        strides, _ = ir.MemRefType(self.lhs.type).get_strides_and_offset()
        expected = 1
        axes = list(zip(self.lhs.access, strides, strict=True))
        for dimension in reversed(self.found.depth):
            found = [stride for terms, stride in axes if terms == [(dimension, 1)]]
            if found != [expected] and self.found.sizes[dimension] != 1:
                return False
            expected *= self.found.sizes[dimension]
        return True

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
        width, height = self.shape(self.found.sizes[column])
        if height == 1:
            width = min(4 * width, self.machine.registers // 2 * self.machine.vector_bytes)
        full = {d: (0, self.sizes[d]) for d in self.found.depth}
        for start, count in self.columns(size, width):
            with code.loop(*start, width) as position:
                for tile in self._row_tiles({**place, column: position}, height):
                    self.tile(tile, width, count, InPlace(self.source), full, 0, self.out)

    def _known_rows(self) -> int | None:
        row = self.main_row()
        return 1 if row is None else self.found.sizes[row]

    # Tiles --------------------------------------------------------------------------------------

    def _row_tiles(self, place: Place, height: int) -> Iterator[list[Place]]:
        """Emits the loops over all rows. Yields the places of the rows of a tile, in the loop."""
        code, row = self.code, self.main_row()
        if row is None:
            yield [place]
            return
        for (first, last), step in self.rows(self.sizes[row], height):
            with code.loop(first, last, step) as start:
                yield [{**place, row: code.sum([(start, 1)], offset)} for offset in range(step)]

    def _tiles(
        self,
        place: Place,
        count: Index,
        shape: tuple[int, int],
        panel: Panel,
        last: LastColumns | None,
        depths: dict[int, tuple[Index, Index]],
        block: Index,
        out: Buffer,
    ) -> None:
        """Emits the loops over all rows, and in them over the columns of a panel.

        Args:
            place: where the columns start.
            count: the number of columns.
            shape: the columns and rows of a tile.
            last: the columns that are summed along the depth.
            block: where the block of the depth starts. The first block starts at 0.
        """
        code, column = self.code, self.found.column
        in_vectors = count if last is None else count - last.count
        for rows in self._row_tiles(place, shape[1]):
            self._begin_tile(rows[0], shape, panel)
            for bounds, width, valid in self._column_tiles(in_vectors, shape[0]):
                with code.loop(*bounds, width) as position:
                    here = code.sum([(place[column], 1), (position, 1)])
                    places = [{**each, column: here} for each in rows]
                    reader = panel.columns(position)
                    self.tile(places, width, valid, reader, depths, block, out)
            if last is None:
                continue
            for offset, sums in enumerate(last.sums(rows, depths)):
                here = code.sum([(place[column], 1)], in_vectors + offset)
                addresses = [out.at(code, {**each, column: here}) for each in rows]
                self.write(sums, out, addresses, 1, None, block)

    def _begin_tile(self, place: Place, shape: tuple[int, int], panel: Panel) -> None:
        """Emits what the steps of a tile have in common."""
        row = self.main_row()
        if not isinstance(panel, Panel):
            return
        if is_prefetched(self.source, row, shape):
            self._prefetches = NextPanel(self.source, place, row, shape)
        elif self._has_next_rows(panel, row, shape[1]):
            self._prefetches = NextRows(self.source, self.lhs, row, shape[1])

    def _has_next_rows(self, panel: Panel, row: int | None, height: int) -> bool:
        """Returns whether the rows that the next tile reads are one piece of memory."""
        depth = self.found.extent(self.found.depth)
        if row is None or self.found.sizes[row] == height or depth == math.inf:
            return False
        strides, _ = ir.MemRefType(self.lhs.type).get_strides_and_offset()
        rows = [s for s, terms in zip(strides, self.lhs.access, strict=True) if terms == [(row, 1)]]
        return rows == [depth] and panel.is_whole and self.is_contiguous()

    def _column_tiles(
        self, count: Index, width: int
    ) -> list[tuple[tuple[Index, Index], int, Index | None]]:
        """Returns ranges of columns, with the width of their tiles, and their columns if fewer.

        A register that would be a tile of its own is part of the tile before: with too few sums,
        loads take longer than additions.
        """
        if isinstance(count, str):
            return [((0, width), width, count)]
        tiles = [(bounds, width, valid) for bounds, valid in self.columns(count, width)]
        rest = count % width
        joins = (
            self.sums_in_vectors
            and self.machine.registers >= 32
            and width == 2 * self.lanes
            and 0 < rest <= self.lanes
            and count > width
        )
        if not joins:
            return tiles
        start = count - rest - width
        wide = 3 * self.lanes
        joined = ((start, count), wide, None if count - start == wide else count - start)
        return [*([((0, start), width, None)] if start else []), joined]

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
        """Emits the sums of one tile, a vector for each row, or three registers for each row."""
        code, column = self.code, self.found.column
        width = self.rounded(width, valid)
        step = self.lanes if width == 3 * self.lanes else width
        vector = f"vector<{step}x{self.element}>"
        masks = [None] * (width // step)
        if isinstance(valid, int):
            masks[-1] = self.mask(step, valid - (width - step))
        elif valid is not None:
            masks = [self.mask(step, valid)]
        sums = [self.zeros(vector)] * (len(places) * len(masks))
        self._depth(list(depths), places, depths, sums, vector, step, masks, reader)
        for position, mask in enumerate(masks):
            addresses = [
                out.at(code, {**place, column: code.sum([(place[column], 1)], position * step)})
                for place in places
            ]
            self.write(sums[position :: len(masks)], out, addresses, step, mask, block)

    def write(
        self,
        sums: list[str],
        out: Buffer,
        addresses: list[str],
        width: int,
        mask: str | None,
        block: Index,
    ) -> None:
        """Adds the sums of a block, vectors, to those of earlier blocks in the result."""
        vector = f"vector<{width}x{self.element}>"
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
        masks: list[str | None],
        reader: InPlace | PanelColumns,
    ) -> None:
        """Emits the loops over the depth. Replaces the values in `sums`: a vector for each mask."""
        code = self.code
        if not dimensions:
            if self._prefetches is not None:
                self._prefetches.emit(places[0])
            rights = [
                reader.read(places[0], vector, width, mask, position * width)
                for position, mask in enumerate(masks)
            ]
            for row, place in enumerate(places):
                left = load_number(code, self.lhs, self.lhs.at(code, place), self.element)
                spread = code.value(f"vector.broadcast {left} : {self.element} to {vector}")
                for position, right in enumerate(rights):
                    at = row * len(rights) + position
                    sums[at] = self.fused(spread, right, sums[at], vector)
            return
        dimension, *inner = dimensions
        with code.accumulate(*depths[dimension], sums, vector) as (index, state):
            deeper = [{**place, dimension: index} for place in places]
            self._depth(inner, deeper, depths, state, vector, width, masks, reader)
