"""Rewrites contractions of bf16 with the instructions that multiply pairs of numbers.

These are matrix products and convolutions of bf16 with sums in f32. AVX512_BF16 has an instruction
that multiplies a pair of numbers in each lane. AMX has registers of 16 rows of 64 bytes, and an
instruction that multiplies a matrix of 16×32 numbers by one of 32×16. Its right operand has the
layout of the panel. Both take subnormal numbers as 0.
"""

from __future__ import annotations

from torch_mlir import ir

from pipelines.ir.contraction import Contraction, find_contraction
from pipelines.reference.schedules.contraction import all_rows
from pipelines.reference.schedules.group_contraction import GroupContraction
from pipelines.reference.schedules.group_panel import GroupPanel, GroupPanelColumns
from pipelines.reference.schedules.kernel import Range
from pipelines.reference.schedules.lane_contraction import LaneContraction
from pipelines.reference.schedules.machine import Machine
from pipelines.reference.schedules.places import Buffer, Index, Place, load

# Number of rows below which filling the panel takes longer than the sums.
FEWEST_ROWS = 16
# The rows of a tile, the columns of a tile of sums, and the steps of a tile of the left operand.
_ROWS, _COLUMNS, _STEPS = 16, 16, 32
_ROW_BYTES = 64
# The tiles of sums that are computed together are a square of this side. With two tiles of the left
# operand and one of the right, they take seven of eight registers.
_TOGETHER = 2
_TILE = "!llvm.x86_amx"


def is_of_bf16(generic: ir.Operation) -> bool:
    """Returns whether the first two operands have elements of bf16."""
    return all(
        isinstance(ir.ShapedType(operand.type).element_type, ir.BF16Type)
        for operand in list(generic.operands)[:2]
    )


def rewrite(function: ir.OpView, generic: ir.Operation, machine: Machine) -> str | None:
    """Returns the text of the function with the contraction as loops over pairs of numbers.

    Returns:
        None if the processor has no such instruction, and for other operations, sizes and layouts.
    """
    found = find_contraction(generic) if machine.pairs or machine.tiles else None
    if found is None or not is_of_bf16(generic) or all_rows(generic, found) < FEWEST_ROWS:
        return None
    if machine.tiles:
        kernel = _Tiles(function, generic, found, machine)
        if kernel.is_supported():
            return kernel.text(copied=True)
    kernel = _Pairs(function, generic, found, machine)
    return kernel.text(copied=True) if machine.pairs and kernel.is_supported() else None


class _Pairs(LaneContraction):
    """Computes with vectors."""

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
        code, column, count = self.code, self.found.column, width if valid is None else valid
        starts = range(0, count, self.lanes)
        sums = self.sums(places, starts, reader)
        for position, start in enumerate(starts):
            addresses = [
                out.at(code, {**place, column: code.sum([(place[column], 1)], start)})
                for place in places
            ]
            mask = self.mask(self.lanes, min(count - start, self.lanes))
            self.write(sums[position :: len(starts)], out, addresses, self.lanes, mask, block)

    def dot(self, total: str, right: str, left: str) -> str:
        """Adds to each lane the products of two pairs of numbers."""
        name = f"llvm.x86.avx512bf16.dpbf16ps.{self.machine.vector_bytes * 8}"
        return self.code.value(
            f'llvm.call_intrinsic "{name}"({total}, {left}, {right}) : ({self.vector}, '
            f"{self.groups}, {self.groups}) -> {self.vector}"
        )


class _Tiles(GroupContraction):
    """Computes with registers of rows.

    LLVM gives each register one shape in a function, and there are eight registers. So all tiles
    have the same shape. Rows and steps that do not fill a tile are copied and followed by zeros;
    results that do not fill one are copied from a buffer.
    """

    def __init__(
        self, function: ir.OpView, generic: ir.Operation, found: Contraction, machine: Machine
    ):
        super().__init__(function, generic, found, machine)
        # The buffers, by name: they are allocated when they are first used.
        self._buffers: dict[str, tuple[str, str]] = {}

    def is_supported(self) -> bool:
        """Like `GroupContraction.is_supported`. The rows must be those of one axis."""
        row = self.main_row()
        return (
            row is not None
            and super().is_supported()
            and all([(row, 1)] in buffer.access for buffer in (self.lhs, self.buffers[-1]))
        )

    def panel(self, width: int) -> GroupPanel:
        """Returns a panel of `width` columns, whose groups fill whole tiles."""
        return GroupPanel(self.source, -(-width // _COLUMNS) * _COLUMNS, _ROWS)

    def shape(self, columns: int | None) -> tuple[int, int]:
        """Returns the columns and rows of the tiles that are computed together."""
        few = columns is not None and columns <= _COLUMNS
        return (_COLUMNS if few else _TOGETHER * _COLUMNS), _TOGETHER * _ROWS

    def rows(self, size: Index, height: int) -> list[Range]:
        """Returns ranges of rows: as few as possible that do not fill tiles."""
        if isinstance(size, int):
            return super().rows(size, height)
        pairs, single = super().rows(size, height), super().rows(size, _ROWS)
        return [pairs[0], ((pairs[0][0][1], single[0][0][1]), _ROWS), single[1]]

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
        """Emits the sums of some tiles."""
        code, count = self.code, width if valid is None else valid
        rows = [places[start : start + _ROWS] for start in range(0, len(places), _ROWS)]
        columns = range(0, count, _COLUMNS)
        whole, rest = divmod(self.depth_size, _STEPS)
        for part in rows:
            if len(part) < _ROWS:
                self._copy_rows(part, whole)
        results = [
            (part, start, min(count - start, _COLUMNS)) for part in rows for start in columns
        ]
        sums = [self._initial(out, *result) for result in results]
        if whole:
            with code.accumulate(0, whole, sums, _TILE) as (step, state):
                lefts = [self._left(part, step) for part in rows]
                self._multiply(state, lefts, columns, reader, step)
        if rest:
            lefts = [self._last_left(part, number, whole) for number, part in enumerate(rows)]
            self._multiply(sums, lefts, columns, reader, whole)
        for total, result in zip(sums, results, strict=True):
            self._write_tile(total, out, *result)

    # The left operand ---------------------------------------------------------------------------

    def _copy_rows(self, part: list[Place], whole: int) -> None:
        """Copies the whole tiles of fewer rows than a tile has."""
        code, vector = self.code, f"vector<{_STEPS}xbf16>"
        if not whole:
            return
        value, type = self._buffer("rows", _ROWS, whole * _STEPS, "bf16")
        with code.loop(0, whole * _STEPS, _STEPS) as step:
            for row, place in enumerate(part):
                steps = self.load_left(place, step, None)
                address = f"{code.index(row)}, {code.index(step)}"
                code.add(f"vector.store {steps}, {value}[{address}] : {type}, {vector}")

    def _left(self, part: list[Place], step: Index) -> str:
        """Returns a tile of the left operand.

        Args:
            step: the position of its steps, in units of tiles.
        """
        first = self.code.sum([(step, _STEPS)])
        if len(part) == _ROWS:
            return self._loaded(self._at(self.lhs, {**part[0], self.found.depth[-1]: first}))
        value, type = self._buffers["rows"]
        return self._loaded(
            self._address(value, type, f"{self.code.index(0)}, {self.code.index(first)}")
        )

    def _last_left(self, part: list[Place], number: int, whole: int) -> str:
        """Returns the last tile of the left operand, with zeros behind its steps.

        Args:
            number: the position of the rows among the parts.
        """
        code, vector = self.code, f"vector<{_STEPS}xbf16>"
        value, type = self._buffer(f"last {number}", _ROWS, _STEPS, "bf16")
        for row, place in enumerate(part):
            steps = self.load_left(place, whole * _STEPS, self.depth_size % _STEPS)
            address = f"{code.index(row)}, {code.index(0)}"
            code.add(f"vector.store {steps}, {value}[{address}] : {type}, {vector}")
        return self._loaded(self._address(value, type, f"{code.index(0)}, {code.index(0)}"))

    def load_left(self, place: Place, step: Index, valid: int | None) -> str:
        """Returns as many steps of a row as a tile has, with zeros behind the valid ones."""
        mask = self.mask(_STEPS, valid)
        return load(self.code, self.lhs, self.left_at(place, step), _STEPS, mask, self.narrow)

    # Tiles --------------------------------------------------------------------------------------

    def _initial(self, out: Buffer, part: list[Place], start: int, count: int) -> str:
        """Returns the tile that the sums are added to: the result, if it fills the tile."""
        if len(part) == _ROWS and count == _COLUMNS and not self.starts_at_zero:
            return self._loaded(self._at(out, part[0], start))
        return self.code.value(
            f'llvm.call_intrinsic "llvm.x86.tilezero.internal"({self._shape()}) : (i16, i16) -> '
            f"{_TILE}"
        )

    def _multiply(
        self,
        sums: list[str],
        lefts: list[str],
        columns: range,
        reader: GroupPanelColumns,
        step: Index,
    ) -> None:
        """Adds the products of the steps of a tile to the tiles `sums`, in place."""
        code, panel = self.code, reader.panel
        for column, start in enumerate(columns):
            address = reader.address(code.sum([(step, _STEPS // self.group)]), start)
            right = self._loaded(self._address(panel.value, panel.type, address))
            for row, left in enumerate(lefts):
                at = row * len(columns) + column
                sums[at] = code.value(
                    f'llvm.call_intrinsic "llvm.x86.tdpbf16ps.internal"({self._shape()}, '
                    f"{self._short(_ROW_BYTES)}, {sums[at]}, {left}, {right}) : "
                    f"(i16, i16, i16, {_TILE}, {_TILE}, {_TILE}) -> {_TILE}"
                )

    def _write_tile(
        self, total: str, out: Buffer, part: list[Place], start: int, count: int
    ) -> None:
        """Writes a tile of sums to the result, or adds it, if it does not fill the tile."""
        code, column = self.code, self.found.column
        if len(part) == _ROWS and count == _COLUMNS:
            self._store(total, self._at(out, part[0], start))
            return
        value, type = self._buffer("result", _ROWS, _COLUMNS, "f32")
        self._store(total, self._address(value, type, f"{code.index(0)}, {code.index(0)}"))
        sums = [
            code.value(
                f"vector.load {value}[{code.index(row)}, {code.index(0)}] : {type}, {self.vector}"
            )
            for row in range(len(part))
        ]
        addresses = [
            out.at(code, {**place, column: code.sum([(place[column], 1)], start)}) for place in part
        ]
        self.write(sums, out, addresses, self.lanes, self.mask(self.lanes, count), 0)

    def _loaded(self, address: tuple[str, str]) -> str:
        """Returns a tile.

        Args:
            address: a pointer to the first row, and the distance of the rows in bytes.
        """
        return self.code.value(
            f'llvm.call_intrinsic "llvm.x86.tileloadd64.internal"({self._shape()}, '
            f"{', '.join(address)}) : (i16, i16, !llvm.ptr, i64) -> {_TILE}"
        )

    def _store(self, tile: str, address: tuple[str, str]) -> None:
        """Writes a tile. The address is as for `_loaded`."""
        self.code.add(
            f'llvm.call_intrinsic "llvm.x86.tilestored64.internal"({self._shape()}, '
            f"{', '.join(address)}, {tile}) : (i16, i16, !llvm.ptr, i64, {_TILE}) -> ()"
        )

    def _shape(self) -> str:
        """Returns the rows of a tile, and the bytes of a row."""
        return f"{self._short(_ROWS)}, {self._short(_ROW_BYTES)}"

    def _short(self, number: int) -> str:
        return self.code.constant(str(number), "i16")

    # Addresses ----------------------------------------------------------------------------------

    def _buffer(self, name: str, rows: int, size: int, element: str) -> tuple[str, str]:
        """Returns the value and the type of a buffer."""
        if name not in self._buffers:
            type = f"memref<{rows}x{size}x{element}>"
            self._buffers[name] = self.code.memory(type), type
        return self._buffers[name]

    def _at(self, buffer: Buffer, place: Place, start: int = 0) -> tuple[str, str]:
        """Returns the address of a place of an operand, `start` columns later."""
        column = self.found.column
        there = {**place, column: self.code.sum([(place[column], 1)], start)}
        axis = buffer.access.index([(self.main_row(), 1)])
        return self._address(buffer.value, buffer.type, buffer.at(self.code, there), axis)

    def _address(
        self, value: str, type: ir.Type | str, indices: str, rows: int = 0
    ) -> tuple[str, str]:
        """Returns a pointer to an element of a memref, and the distance of its rows in bytes.

        Args:
            indices: as `Buffer.at` returns them.
            rows: the axis of the rows.
        """
        code = self.code
        memref = ir.MemRefType(type if isinstance(type, ir.Type) else ir.Type.parse(type))
        base = code.value(f"memref.extract_aligned_pointer_as_index {value} : {memref} -> index")
        total, *strides = self._offset_and_strides(value, memref)
        item = code.index(memref.element_type.width // 8)
        for index, stride in zip(indices.split(", "), strides, strict=True):
            step = code.value(f"arith.muli {index}, {stride} : index")
            total = code.value(f"arith.addi {total}, {step} : index")
        total = code.value(f"arith.muli {total}, {item} : index")
        total = code.value(f"arith.addi {total}, {base} : index")
        number = code.value(f"arith.index_cast {total} : index to i64")
        distance = code.value(f"arith.muli {strides[rows]}, {item} : index")
        return (
            code.value(f"llvm.inttoptr {number} : i64 to !llvm.ptr"),
            code.value(f"arith.index_cast {distance} : index to i64"),
        )

    def _offset_and_strides(self, value: str, memref: ir.MemRefType) -> list[str]:
        """Returns the offset and the strides of a memref, as indices."""
        code = self.code
        strides, offset = memref.get_strides_and_offset()
        if ir.ShapedType.get_dynamic_stride_or_offset() not in (offset, *strides):
            return [code.index(number) for number in (offset, *strides)]
        buffer, first, *numbers = (code.name() for _ in range(2 + 2 * memref.rank))
        flat = ir.MemRefType.get([], memref.element_type)
        code.add(
            f"{buffer}, {', '.join((first, *numbers))} = memref.extract_strided_metadata {value} : "
            f"{memref} -> {flat}, {', '.join(['index'] * (1 + len(numbers)))}"
        )
        return [first, *numbers[memref.rank :]]
