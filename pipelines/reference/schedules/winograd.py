"""Computes 3x3 convolutions by Winograd's algorithm F(2x2, 3x3): 4 products in place of 9.

A square of 2x2 results depends on a tile of 4x4 pixels. If the tile and the filter are transformed,
the sums over the window become products of their elements (A. Lavin and S. Gray, "Fast Algorithms
for Convolutional Neural Networks", 2015):

    square = Aᵀ · (sum over channels of (G · filter · Gᵀ) * (Bᵀ · tile · B)) · A

So each of the 16 elements of a transformed tile has a matrix product of its own, which sums over
the channels. Its rows are filters, and its columns are tiles.

    filters[element, filter, channel] = transformed filters
    for image, for block of rows of tiles:
        tiles[element, channel, tile] = transformed pixels
        for a few filters:
            for element: sums[filter, tile] = filters[filter, channel] * tiles[channel, tile]
            for row of tiles: two rows of results = transformed sums

An infinity or a NaN would spread to all results of its tiles. So two rows of results with such a
value are computed again, as plain sums.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Sequence
from dataclasses import replace

from torch_mlir import ir

from pipelines.ir.contraction import find_contraction
from pipelines.reference.schedules.bf16_contraction import is_of_bf16
from pipelines.reference.schedules.contraction import ContractionKernel, is_plain
from pipelines.reference.schedules.convolution import Convolution, find_convolution
from pipelines.reference.schedules.machine import Machine
from pipelines.reference.schedules.panel import InPlace, pitch, transposed
from pipelines.reference.schedules.places import Buffer, Index, Nest, Place, load_number
from pipelines.reference.schedules.prefetch import prefetch

# An attribute of a convolution that is computed by this schedule, and of its parts.
WINOGRAD = "unmess.winograd"
# The length of the side of a filter, of a tile, and of a square of results.
_WINDOW, _SIDE, SQUARE = 3, 4, 2
_ELEMENTS = _SIDE * _SIDE
# Maximum number of bytes of the transformed tiles of a block: about a second-level cache.
_BYTES = 1024 * 1024
# Bytes of an element.
_ITEM = 4
# Dimensions besides those of the operation: elements of a tile or a filter, all channels, the first
# of the filters that are computed together, and these filters.
_ELEMENT, _CHANNEL, _FIRST, _FILTER = -1, -2, -3, -4
# The number of channels between the filters that are transformed and those that are fetched into
# the cache.
_AHEAD = 8
# The bits of an infinity. Those of a NaN, without its sign, are a larger number.
_INFINITY = 0x7F800000


def rewrite(function: ir.OpView, generic: ir.Operation, machine: Machine) -> str | None:
    """Returns the text of the function with a marked convolution in vector code.

    Returns:
        None for other operations, and where plain sums of bf16 are faster.
    """
    if WINOGRAD not in generic.attributes or (machine.tiles and is_of_bf16(generic)):
        return None
    found = find_convolution(generic)
    if found is None or not all(is_plain(operand.type) for operand in generic.operands):
        return None
    return _Winograd(function, generic, found, machine).text()


class _Winograd(ContractionKernel):
    """Builds the function of a convolution."""

    def __init__(
        self, function: ir.OpView, generic: ir.Operation, found: Convolution, machine: Machine
    ):
        super().__init__(function, generic, find_contraction(generic), machine)
        self.convolution = found
        self.filters, self.pixels = self.lhs, self.source.buffer
        self.filter_count = found.sizes[found.filter]
        self.channels = math.prod(found.sizes[dimension] for dimension in found.channels)
        # The size of the result, and the number of tiles down and across.
        self.rows_of_image, self.width = found.result
        self.down, self.across = (-(-n // SQUARE) for n in (self.rows_of_image, self.width))
        self.block = self._rows_of_block()
        # The sums start at zero, whether or not the results do.
        self.adds, self.starts_at_zero = not self.starts_at_zero, True
        # The number of filters that are computed together: a power of two.
        _, most = machine.tile(_ITEM, None, None)
        self.together = 1 << (most.bit_length() - 1)
        self.flat = self._flat_filters()
        self._allocate()

    def _rows_of_block(self) -> int:
        """Returns the rows of tiles of a block with the fewest unused lanes of registers."""
        most = _BYTES // (_ELEMENTS * self.channels * _ITEM * self.across)
        counts = range(1, min(max(most, 1), self.down) + 1)

        def lanes(count: int) -> int:
            whole, rest = divmod(self.down, count)
            return whole * self._padded(count * self.across) + self._padded(rest * self.across)

        return min(counts, key=lambda count: (lanes(count), -count))

    def _padded(self, columns: int) -> int:
        """Returns a number of columns, rounded up to whole registers and half a register."""
        half = self.lanes // 2 if columns > self.lanes else self.lanes
        return -(-columns // half) * half

    def _allocate(self) -> None:
        """Allocates the transformed filters and tiles, and the sums of a few filters.

        If there is only one block, each transformed filter is used once, and a few are enough.
        """
        column, filters = self.convolution.column, self.together
        access = [(_CHANNEL, filters), (_FILTER, 1)]
        self.has_one_block = self.block >= self.down
        if not self.has_one_block:
            filters = -(-self.filter_count // self.together) * self.together
            access.append((_FIRST, self.channels))
        self.lhs = self._memory(filters * self.channels, access)
        # A row of tiles is written in whole registers.
        most = self.block * self.across + self.lanes
        width = pitch(-(-most // self.lanes) * self.lanes, _ITEM)
        self.tiles = self._memory(self.channels * width, [(_CHANNEL, width), (column, 1)])
        self.sums = self._memory(self.together * width, [(_FILTER, width), (column, 1)])
        if self.adds:
            memory = f"memref<{SQUARE}x{self.width}xf32>"
            access = [[(_ELEMENT, 1)], [(column, 1)]]
            self.before = Buffer(self.code.memory(memory), ir.Type.parse(memory), access)

    def _memory(self, size: int, access: list[tuple[int, int]]) -> Buffer:
        """Returns memory with a matrix for each element of a transformed tile.

        Args:
            size: the number of elements of a matrix.
            access: how dimensions index its elements.
        """
        memory = f"memref<{_ELEMENTS}x{pitch(size, _ITEM)}xf32>"
        return Buffer(self.code.memory(memory), ir.Type.parse(memory), [[(_ELEMENT, 1)], access])

    def text(self) -> str:
        """Returns the whole function."""
        code, found = self.code, self.convolution
        with Nest(code, found.groups, self.sizes) as groups:
            if not self.has_one_block:
                for (first, last), count in self.rows(self.filter_count, self.together):
                    with code.loop(first, last, count) as filter:
                        here = {**groups, found.filter: filter, _FIRST: filter}
                        self._transform_filters(here, count)
            with Nest(code, found.images, self.sizes, groups) as place:
                for (first, last), rows in self.rows(self.down, self.block):
                    with code.loop(first, last, rows) as start:
                        self._block(place, start, rows)
        return self.end()

    def _block(self, place: Place, start: Index, rows: int) -> None:
        """Emits the results of a block.

        Args:
            place: the group and the image.
            start: the first row of tiles.
            rows: their number.
        """
        code, found = self.code, self.convolution

        def row_of_tiles(row: Index) -> Place:
            return {
                found.row: code.sum([(start, SQUARE), (row, SQUARE)]),
                found.column: code.sum([(row, self.across)]),
            }

        with code.loop(0, rows) as row:
            self._transform_pixels({**place, **row_of_tiles(row)})
        for (first, last), count in self.rows(self.filter_count, self.together):
            with code.loop(first, last, count) as filter:
                if self.has_one_block:
                    self._transform_filters({**place, found.filter: filter}, count)
                self._multiply(filter, count, rows * self.across)
                with code.loop(0, count) as position, code.loop(0, rows) as row:
                    here = code.sum([(filter, 1), (position, 1)])
                    self._results(
                        {**place, found.filter: here, _FILTER: position, **row_of_tiles(row)}
                    )

    # Products -----------------------------------------------------------------------------------

    def _multiply(self, filter: Index, count: int, columns: int) -> None:
        """Emits the sums over the channels, of a few filters and all tiles of a block."""
        code, found = self.code, self.convolution
        columns = self._padded(columns)
        whole = columns // self.lanes * self.lanes
        shape, _ = self.machine.tile(_ITEM, whole, None)
        ranges = self._column_tiles(whole, shape)
        if columns > whole:
            ranges.append(((whole, columns), columns - whole, None))
        depths = {_CHANNEL: (0, self.channels)}
        tiles = InPlace(replace(self.source, buffer=self.tiles))
        with code.loop(0, _ELEMENTS) as element:
            for bounds, width, valid in ranges:
                with code.loop(*bounds, width) as position:
                    places = [
                        {
                            _ELEMENT: element,
                            _FILTER: row,
                            _FIRST: filter,
                            found.column: position,
                        }
                        for row in range(count)
                    ]
                    self.tile(places, width, valid, tiles, depths, 0, self.sums)

    # Transforms of filters ----------------------------------------------------------------------

    def _transform_filters(self, place: Place, count: int) -> None:
        """Emits `G · filter · Gᵀ` for a few filters, and all of their channels.

        Args:
            place: the group, the first filter, and its number in memory.
            count: the number of filters.
        """
        code, lanes = self.code, self.lanes
        # A vector has a lane for each filter, and if there are more lanes, for several channels.
        filters = min(self.together, lanes)
        for first in range(0, count, filters):
            with code.loop(0, self.channels, lanes // filters) as channel:
                here = {**place, _CHANNEL: channel, _FILTER: first}
                elements = self._elements(here, filters, count - first)
                columns = [self._spread(elements[n::_WINDOW]) for n in range(_WINDOW)]
                for row, values in enumerate(zip(*columns, strict=True)):
                    for column, value in enumerate(self._spread(values)):
                        address = self.lhs.at(code, {**here, _ELEMENT: row * _SIDE + column})
                        self.store(value, self.lhs, address, lanes, None)

    def _elements(self, place: Place, filters: int, count: int) -> list[str]:
        """Returns a vector for each element of a filter, with lanes for filters and channels.

        The elements of a channel are adjacent in memory. They are read in as many vectors as
        needed; the last one starts earlier, and does not read behind them.

        Args:
            place: the first filter and channel.
            filters: the number of adjacent lanes for filters.
            count: the number of filters that exist; the other lanes repeat the last one.
        """
        code, lanes = self.code, self.lanes
        size, flat = _WINDOW * _WINDOW, self.flat
        filter, first = self.convolution.filter, place[_FILTER]
        valid = self.mask(lanes, min(lanes, size))

        def address(lane: int, start: int) -> str:
            number = first + min(lane % filters, count - 1)
            there = {
                **place,
                filter: code.sum([(place[filter], 1)], number),
                _CHANNEL: code.sum([(place[_CHANNEL], 1)], lane // filters),
                _ELEMENT: start,
            }
            return flat.at(code, there)

        for lane in range(min(filters, count)):
            prefetch(code, flat, address(lane, _AHEAD * size))
        vectors: list[str] = []
        for start in [*range(0, size - lanes, lanes), max(size - lanes, 0)]:
            rows = [self.load(flat, address(lane, start), lanes, valid) for lane in range(lanes)]
            vectors[start:] = transposed(code, rows, f"vector<{lanes}x{self.element}>", lanes)
        return vectors[:size]

    def _flat_filters(self) -> Buffer:
        """Returns the filters with one axis for all elements of a filter."""
        old, outer = ir.MemRefType(self.filters.type), len(self.convolution.groups) + 1
        strides, offset = old.get_strides_and_offset()
        shape = [*old.shape[:outer], self.channels * _WINDOW * _WINDOW]
        is_identity = old.layout == ir.MemRefType.get(old.shape, old.element_type).layout
        layout = None if is_identity else ir.StridedLayoutAttr.get(offset, [*strides[:outer], 1])
        new = ir.MemRefType.get(shape, old.element_type, layout)
        axes = [*([axis] for axis in range(outer)), [*range(outer, old.rank)]]
        value = self.code.value(
            f"memref.collapse_shape {self.filters.value} {axes} : {old} into {new}"
        )
        elements = [(_CHANNEL, _WINDOW * _WINDOW), (_ELEMENT, 1)]
        return Buffer(value, new, [*self.filters.access[:outer], elements])

    def _spread(self, values: list[str]) -> list[str]:
        """Returns `G · values`: four vectors for three."""
        vector = f"vector<{self.lanes}x{self.element}>"
        half = self.code.constant("dense<0.5>", vector)
        first, middle, last = values
        both = self.added(first, last, vector)
        sums = (self.added(both, middle, vector), self._subtracted(both, middle, vector))
        halves = [self.code.value(f"arith.mulf {each}, {half} : {vector}") for each in sums]
        return [first, *halves, last]

    # Transforms of tiles ------------------------------------------------------------------------

    def _transform_pixels(self, place: Place) -> None:
        """Emits `Bᵀ · tile · B` for all channels of a row of tiles.

        Args:
            place: the row of pixels, and the column of its first tile in the block.
        """
        code, found, lanes = self.code, self.convolution, self.lanes
        whole = self.width // SQUARE // lanes * lanes
        with Nest(code, found.channels, self.sizes, place) as channels:
            here = {**channels, _CHANNEL: self._channel(channels)}
            if whole:
                with code.loop(0, whole, lanes) as tile:
                    self._transform_tiles(here, tile, lanes, lanes * SQUARE + _SIDE - SQUARE)
            if rest := self.across - whole:
                pixels = self.width + _WINDOW - 1 - whole * SQUARE
                size = max(1 << (rest - 1).bit_length(), SQUARE)
                self._transform_tiles(here, whole, size, pixels)

    def _transform_tiles(self, place: Place, tile: Index, size: int, pixels: int) -> None:
        """Emits the transforms of adjacent tiles.

        Args:
            tile: the first one.
            size: the number of lanes.
            pixels: the number of pixels from the first one to the end of the row.
        """
        code, found = self.code, self.convolution
        vector = f"vector<{size}x{self.element}>"
        rows = [self._row(place, row, tile, size, pixels) for row in range(_SIDE)]
        columns = [self._differences(values, vector) for values in zip(*rows, strict=True)]
        for row, values in enumerate(zip(*columns, strict=True)):
            for column, value in enumerate(self._differences(values, vector)):
                there = {
                    _ELEMENT: row * _SIDE + column,
                    _CHANNEL: place[_CHANNEL],
                    found.column: code.sum([(place[found.column], 1), (tile, 1)]),
                }
                self.store(value, self.tiles, self.tiles.at(code, there), size, None)

    def _row(self, place: Place, row: int, tile: Index, size: int, pixels: int) -> list[str]:
        """Returns the four pixels in a row of adjacent tiles, with a lane for each tile.

        Lanes behind the last pixel are zero. A row below the last one is a copy of it: it is only
        needed for results below the last row.
        """
        code, found = self.code, self.convolution
        vector = f"vector<{size}x{self.element}>"
        there = code.sum([(place[found.row], 1)], row)
        if row == _SIDE - 1 and self.rows_of_image % SQUARE:
            there = self._least(there, self.rows_of_image + _WINDOW - 2)
        columns = []
        for first in (0, SQUARE):
            halves = []
            for start in (first, first + size):
                count = min(max(pixels - start, 0), size)
                here = {**place, found.row: there, found.column: code.sum([(tile, SQUARE)], start)}
                address = self.pixels.at(code, here)
                mask = self.mask(size, count)
                halves.append(
                    self.load(self.pixels, address, size, mask) if count else self.zeros(vector)
                )
            columns += [
                code.value(
                    f"vector.shuffle {halves[0]}, {halves[1]} "
                    f"{[SQUARE * lane + parity for lane in range(size)]} : {vector}, {vector}"
                )
                for parity in range(SQUARE)
            ]
        return columns

    def _differences(self, values: tuple[str, ...], vector: str) -> list[str]:
        """Returns `Bᵀ · values`: four vectors for four."""
        first, second, third, last = values
        return [
            self._subtracted(first, third, vector),
            self.added(second, third, vector),
            self._subtracted(third, second, vector),
            self._subtracted(second, last, vector),
        ]

    # Results ------------------------------------------------------------------------------------

    def _results(self, place: Place) -> None:
        """Emits `Aᵀ · sums · A` for a row of tiles and a filter: two rows of results.

        Args:
            place: the filter, the row of results, and the column of the first tile in the block.
        """
        code, lanes = self.code, self.lanes
        whole = self.width // SQUARE // lanes
        bits = f"vector<{lanes}xi32>"
        largest = [code.constant("dense<0>", bits)]
        if whole:
            with code.accumulate(0, whole, largest, bits) as (number, state):
                start = code.sum([(number, lanes)])
                state[0] = self._squares(place, start, lanes * SQUARE, state[0])
        if self.across > whole * lanes:
            results = self.width - whole * lanes * SQUARE
            largest[0] = self._squares(place, whole * lanes, results, largest[0])
        most = code.value(f"vector.reduction <maxui>, {largest[0]} : {bits} into i32")
        infinity = code.constant(str(_INFINITY), "i32")
        code.add(f"scf.if {code.value(f'arith.cmpi uge, {most}, {infinity} : i32')} {{")
        self._sum_plainly(place)
        code.add("}")

    def _squares(self, place: Place, tile: Index, results: int, largest: str) -> str:
        """Emits the results of adjacent tiles.

        Args:
            tile: the first one.
            results: the number of results from the first one to the end of the row.
            largest: the bits of the largest absolute sums so far.

        Returns:
            The bits of the largest absolute sums.
        """
        code, found, lanes = self.code, self.convolution, self.lanes
        vector = f"vector<{lanes}x{self.element}>"
        at = {
            _FILTER: place[_FILTER],
            found.column: code.sum([(place[found.column], 1), (tile, 1)]),
        }
        columns = []
        for column in range(_SIDE):
            addresses = [
                self.sums.at(code, {**at, _ELEMENT: row * _SIDE + column}) for row in range(_SIDE)
            ]
            loaded = [self.load(self.sums, address, lanes, None) for address in addresses]
            columns.append(self._collected(loaded, vector))
        for row, values in enumerate(zip(*columns, strict=True)):
            even_odd = self._collected(values, vector)
            for half in range(SQUARE):
                count = min(max(results - half * lanes, 0), lanes)
                if not count:
                    continue
                order = [(half * lanes + n) // 2 + n % 2 * lanes for n in range(lanes)]
                value = code.value(
                    f"vector.shuffle {', '.join(even_odd)} {order} : {vector}, {vector}"
                )
                mask = self.mask(lanes, count)
                here = {
                    **place,
                    found.row: code.sum([(place[found.row], 1)], row),
                    found.column: code.sum([(tile, SQUARE)], half * lanes),
                }
                self._finish(value, here, row, mask)
                largest = self._larger(largest, value, mask)
        return largest

    def _collected(self, values: Sequence[str], vector: str) -> list[str]:
        """Returns `Aᵀ · values`: two vectors for four."""
        first, second, third, last = values
        return [
            self.added(self.added(first, second, vector), third, vector),
            self._subtracted(self._subtracted(second, third, vector), last, vector),
        ]

    def _finish(self, value: str, place: Place, row: int, mask: str | None) -> None:
        """Writes a vector of results, unless they are below the last row.

        Keeps what the result held before for `_sum_plainly`, if the vector is added to it.
        """
        code, found, lanes = self.code, self.convolution, self.lanes
        vector = f"vector<{lanes}x{self.element}>"
        is_optional = row == SQUARE - 1 and self.rows_of_image % SQUARE
        if is_optional:
            last, here = code.index(self.rows_of_image), code.index(place[found.row])
            is_inside = code.value(f"arith.cmpi slt, {here}, {last} : index")
            code.add(f"scf.if {is_inside} {{")
        address = self.out.at(code, place)
        if self.adds:
            before = self.load(self.out, address, lanes, mask)
            there = self.before.at(code, {_ELEMENT: row, found.column: place[found.column]})
            self.store(before, self.before, there, lanes, mask)
            value = self.added(before, value, vector)
        self.store(value, self.out, address, lanes, mask)
        if is_optional:
            code.add("}")

    def _larger(self, largest: str, value: str, mask: str | None) -> str:
        """Returns the larger bits of absolute values, where the mask is true."""
        code, lanes = self.code, self.lanes
        vector, bits = f"vector<{lanes}x{self.element}>", f"vector<{lanes}xi32>"
        size = code.value(f"math.absf {value} : {vector}")
        size = code.value(f"arith.bitcast {size} : {vector} to {bits}")
        if mask is not None:
            zero = code.constant("dense<0>", bits)
            size = code.value(f"arith.select {mask}, {size}, {zero} : vector<{lanes}xi1>, {bits}")
        return code.value(f"arith.maxui {largest}, {size} : {bits}")

    def _sum_plainly(self, place: Place) -> None:
        """Emits the sums over the window and the channels, for two rows of results of a filter."""
        code, found, lanes = self.code, self.convolution, self.lanes
        vector = f"vector<{lanes}x{self.element}>"
        last = code.sum([(place[found.row], 1)], SQUARE)
        if self.rows_of_image % SQUARE:
            last = self._least(last, self.rows_of_image)
        with code.loop(place[found.row], last) as row:
            for bounds, count in self.columns(self.width, lanes):
                with code.loop(*bounds, lanes) as column:
                    here = {**place, found.row: row, found.column: column}
                    mask = self.mask(lanes, count)
                    total = self._plain_sum(here, mask)
                    if self.adds:
                        position = code.sum([(row, 1), (place[found.row], -1)])
                        there = self.before.at(code, {_ELEMENT: position, found.column: column})
                        total = self.added(
                            self.load(self.before, there, lanes, mask), total, vector
                        )
                    self.store(total, self.out, self.out.at(code, here), lanes, mask)

    def _plain_sum(self, place: Place, mask: str | None) -> str:
        """Returns the sums of adjacent results."""
        code, found, lanes = self.code, self.convolution, self.lanes
        vector = f"vector<{lanes}x{self.element}>"
        total = [self.zeros(vector)]
        with contextlib.ExitStack() as loops:
            here, sums = dict(place), total
            for dimension in (*found.channels, found.filter_row, found.filter_column):
                size = found.sizes[dimension]
                loop = code.accumulate(0, size, sums, vector)
                here[dimension], sums = loops.enter_context(loop)
            left = load_number(code, self.filters, self.filters.at(code, here), self.element)
            spread = code.value(f"vector.broadcast {left} : {self.element} to {vector}")
            right = self.load(self.pixels, self.pixels.at(code, here), lanes, mask)
            sums[0] = self.fused(spread, right, sums[0], vector)
        return total[0]

    # Numbers ------------------------------------------------------------------------------------

    def _channel(self, place: Place) -> Index:
        """Returns the number of a channel, from the steps of the loops over channels."""
        terms, step = [], 1
        for dimension in reversed(self.convolution.channels):
            terms.append((place[dimension], step))
            step *= self.convolution.sizes[dimension]
        return self.code.sum(terms)

    def _subtracted(self, left: str, right: str, vector: str) -> str:
        return self.code.value(f"arith.subf {left}, {right} : {vector}")

    def _least(self, left: Index, right: int) -> str:
        code = self.code
        return code.value(f"arith.minsi {code.index(left)}, {code.index(right)} : index")
