"""The base class of the functions of all schedules: operands, sizes, and tiles of the result."""

from __future__ import annotations

from torch_mlir import ir

from pipelines.ir.contraction import indexing_maps, loop_sizes
from pipelines.reference.schedules.code import Code
from pipelines.reference.schedules.machine import Machine
from pipelines.reference.schedules.places import Buffer, Index, load, mask, sum_of_dimensions, zeros

# An attribute of a contraction that starts at zero, whatever its result holds before.
STARTS_AT_ZERO = "unmess.starts_at_zero"
# The bounds of a range of a dimension, and how many of its values are processed together.
Range = tuple[tuple[Index, Index], int]


class Kernel:
    """A builder of a function that computes the same as a `linalg.generic` on memrefs.

    Attributes:
        code: the emitted code.
        buffers: the operands, results last. A number that is not an argument has no name.
        sizes: the sizes of the loops: numbers, or names of values.
        starts_at_zero: whether to ignore what the result holds before.
    """

    def __init__(self, function: ir.OpView, generic: ir.Operation, machine: Machine):
        self.machine = machine
        self.starts_at_zero = STARTS_AT_ZERO in generic.attributes
        self.code = Code()
        arguments = list(function.regions[0].blocks[0].arguments)
        names = [f"%arg{position}" for position in range(len(arguments))]
        signature = ", ".join(
            f"{name}: {argument.type}" for name, argument in zip(names, arguments, strict=True)
        )
        symbol = ir.StringAttr(function.attributes["sym_name"]).value
        self.code.add(f"func.func private @{symbol}({signature}) {{")
        self.code.begin()
        self.buffers = [
            Buffer(
                names[arguments.index(operand)] if operand in arguments else "",
                operand.type,
                [sum_of_dimensions(expression) for expression in indexing.results],
            )
            for operand, indexing in zip(generic.operands, indexing_maps(generic), strict=True)
        ]
        self.known_sizes = loop_sizes(generic)
        self.sizes = [self._size(dimension) for dimension in range(len(self.known_sizes))]
        self.element = ir.MemRefType(self.buffers[-1].type).element_type

    def _size(self, dimension: int) -> Index:
        known = self.known_sizes[dimension]
        if known is not None:
            return known
        for buffer in self.buffers:
            if [(dimension, 1)] in buffer.access:
                axis = self.code.index(buffer.access.index([(dimension, 1)]))
                return self.code.value(f"memref.dim {buffer.value}, {axis} : {buffer.type}")
        raise AssertionError("a schedule takes operations whose sizes are found in some operand")

    @property
    def lanes(self) -> int:
        """The number of elements in a register."""
        return self.machine.vector_bytes * 8 // self.element.width

    def end(self) -> str:
        """Ends the function and returns its text."""
        self.code.free()
        self.code.add("return")
        self.code.add("}")
        return str(self.code)

    def columns(self, size: Index, width: int) -> list[tuple[tuple[Index, Index], Index | None]]:
        """Returns ranges of columns, each with a tile's column count if it is below `width`."""
        code = self.code
        if isinstance(size, int):
            whole = size // width * width
            tiles = [((0, whole), None)] if whole else []
            return tiles + ([((whole, size), size - whole)] if whole < size else [])
        whole = self._whole(size, width)
        rest = code.value(f"arith.subi {size}, {whole} : index")
        return [((0, whole), None), ((whole, size), rest)]

    def rows(self, size: Index, height: int) -> list[Range]:
        """Returns ranges of rows: one in tiles of `height` rows, and one with the rest."""
        if isinstance(size, int):
            whole = size // height * height
            ranges: list[Range] = [((0, whole), height)] if whole else []
            return ranges + ([((whole, size), size - whole)] if whole < size else [])
        if height == 1:
            return [((0, size), 1)]
        whole = self._whole(size, height)
        return [((0, whole), height), ((whole, size), 1)]

    def _whole(self, size: str, step: int) -> str:
        return self.code.value(
            f"affine.apply affine_map<(d0) -> (d0 floordiv {step} * {step})>({size})"
        )

    def rounded(self, width: int, valid: Index | None) -> int:
        """Returns the length of a vector that holds the valid columns in whole registers.

        Below a register, it is the next power of two.
        """
        if not isinstance(valid, int):
            return width
        if valid < self.lanes:
            return min(1 << (valid - 1).bit_length(), width)
        return min(-(-valid // self.lanes) * self.lanes, width)

    def mask(self, width: int, valid: Index | None) -> str | None:
        """Returns the mask of the valid columns of a vector, or None if all are valid."""
        return mask(self.code, width, valid)

    def load(self, buffer: Buffer, address: str, width: int, mask: str | None) -> str:
        """Returns the vector at an address of a buffer, with zeros where the mask is false."""
        return load(self.code, buffer, address, width, mask, self.element)

    def store(self, value: str, buffer: Buffer, address: str, width: int, mask: str | None) -> None:
        """Writes a vector to an address of a buffer, where the mask is true."""
        vector = f"vector<{width}x{self.element}>"
        if mask is None:
            self.code.add(
                f"vector.store {value}, {buffer.value}[{address}] : {buffer.type}, {vector}"
            )
            return
        self.code.add(
            f"vector.maskedstore {buffer.value}[{address}], {mask}, {value} : {buffer.type}, "
            f"vector<{width}xi1>, {vector}"
        )

    def fused(self, left: str, right: str, total: str, vector: str) -> str:
        """Returns `total + left * right`."""
        if isinstance(self.element, ir.IntegerType):
            product = self.code.value(f"arith.muli {left}, {right} : {vector}")
        elif self.machine.fuses:
            return self.code.value(f"vector.fma {left}, {right}, {total} : {vector}")
        else:
            product = self.code.value(f"arith.mulf {left}, {right} : {vector}")
        return self.added(total, product, vector)

    def added(self, left: str, right: str, vector: str) -> str:
        """Returns `left + right`."""
        name = "addi" if isinstance(self.element, ir.IntegerType) else "addf"
        return self.code.value(f"arith.{name} {left}, {right} : {vector}")

    def zeros(self, vector: str) -> str:
        """Returns a vector of zeros."""
        return zeros(self.code, vector, self.element)
