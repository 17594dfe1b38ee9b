"""Loop nests, places in them, and loads of operands at these places."""

from __future__ import annotations

from dataclasses import dataclass

from torch_mlir import ir

from pipelines.reference.schedules.code import Code

# A value's name, or a number.
Index = int | str
# The values of dimensions; missing ones are 0.
Place = dict[int, Index]


@dataclass
class Buffer:
    """A memref of a kernel, and how the loops index it.

    Attributes:
        value: its name.
        type: its memref type.
        access: for each axis, the sum of dimensions that indexes it, as (dimension, factor).
    """

    value: str
    type: ir.Type
    access: list[list[tuple[int, int]]]

    def at(self, code: Code, place: Place) -> str:
        """Returns the indices at the given values of dimensions; missing ones are 0."""
        indices = [
            code.sum([(place.get(dimension, 0), factor) for dimension, factor in terms])
            for terms in self.access
        ]
        return ", ".join(code.index(index) for index in indices)


def load(
    code: Code, buffer: Buffer, address: str, width: int, mask: str | None, wide: ir.Type
) -> str:
    """Returns the vector at an address of a buffer, widened, with zeros where the mask is false.

    Args:
        address: indices, as `Buffer.at` returns them.
        wide: the element type of the result.
    """
    narrow = ir.MemRefType(buffer.type).element_type
    vector = f"vector<{width}x{narrow}>"
    if mask is None:
        value = code.value(f"vector.load {buffer.value}[{address}] : {buffer.type}, {vector}")
    else:
        zero = zeros(code, vector, narrow)
        value = code.value(
            f"vector.maskedload {buffer.value}[{address}], {mask}, {zero} : {buffer.type}, "
            f"vector<{width}xi1>, {vector} into {vector}"
        )
    return _widened(code, value, vector, f"vector<{width}x{wide}>")


def load_columns(
    code: Code,
    buffer: Buffer,
    place: Place,
    column: int,
    width: int,
    valid: int | None,
    wide: ir.Type,
) -> str:
    """Returns the vector of elements of a buffer for adjacent columns, widened.

    Reads nothing behind the last column, and has zeros after it.

    Args:
        place: where the columns start.
        column: their dimension. It indexes the last axis, every element of it or every second one.
        valid: the number of columns, or None for `width`.
        wide: the element type of the result.
    """
    if stride_of(buffer, column) == 1:
        address = buffer.at(code, place)
        return load(code, buffer, address, width, mask(code, width, valid), wide)
    # Take the even elements of one vector, and the odd ones of another, which starts at the last
    # element of the first one.
    narrow = ir.MemRefType(buffer.type).element_type
    elements = 2 * (width if valid is None else valid) - 1
    first = min(elements, width)
    low = load(code, buffer, buffer.at(code, place), width, mask(code, width, first), narrow)
    high, beyond = low, elements - width + 1
    if beyond > 0:
        *axes, last = buffer.access
        start = code.sum([(place.get(d, 0), factor) for d, factor in last], width - 1)
        outer = Buffer(buffer.value, buffer.type, axes).at(code, place)
        address = ", ".join([*([outer] if axes else []), code.index(start)])
        high = load(code, buffer, address, width, mask(code, width, min(beyond, width)), narrow)
    picked = [2 * n if 2 * n < width else 2 * n + 1 for n in range(width)]
    vector = f"vector<{width}x{narrow}>"
    value = code.value(f"vector.shuffle {low}, {high} {picked} : {vector}, {vector}")
    return _widened(code, value, vector, f"vector<{width}x{wide}>")


def stride_of(buffer: Buffer, column: int) -> int | None:
    """Returns the distance of the elements of adjacent columns along the last axis.

    It is 0 if the columns index no axis, and None if they index another one.
    """
    *others, last = [dict(terms).get(column, 0) for terms in buffer.access] or [0]
    return None if any(others) else last


def mask(code: Code, width: int, valid: Index | None) -> str | None:
    """Returns the mask of the first `valid` elements of a vector, or None if all are valid."""
    if valid is None or valid == width:
        return None
    return code.value(f"vector.create_mask {code.index(valid)} : vector<{width}xi1>")


def zeros(code: Code, vector: str, element: ir.Type) -> str:
    """Returns a vector of zeros.

    Args:
        vector: its type, with elements of type `element`.
    """
    return code.constant(f"dense<{0 if isinstance(element, ir.IntegerType) else 0.0}>", vector)


def load_number(code: Code, buffer: Buffer, address: str, wide: ir.Type) -> str:
    """Returns the number at an address of a buffer, widened."""
    narrow = str(ir.MemRefType(buffer.type).element_type)
    value = code.value(f"memref.load {buffer.value}[{address}] : {buffer.type}")
    return _widened(code, value, narrow, str(wide))


def _widened(code: Code, value: str, narrow: str, wide: str) -> str:
    return value if narrow == wide else code.value(f"arith.extf {value} : {narrow} to {wide}")


class Ranges:
    """A nest of loops over ranges of dimensions. Yields the values of all dimensions so far."""

    def __init__(self, code: Code, dimensions, ranges, place: Place | None = None):
        self._loops = [(d, code.loop(*ranges[d])) for d in dimensions]
        self._place = dict(place or {})

    def __enter__(self) -> Place:
        for dimension, loop in self._loops:
            self._place[dimension] = loop.__enter__()
        return self._place

    def __exit__(self, *problem) -> None:
        for _, loop in reversed(self._loops):
            loop.__exit__(*problem)


class Nest(Ranges):
    """A nest of loops over whole dimensions."""

    def __init__(self, code: Code, dimensions, sizes, place: Place | None = None):
        super().__init__(code, dimensions, {d: (0, sizes[d]) for d in dimensions}, place)


def sum_of_dimensions(expression: ir.AffineExpr) -> list[tuple[int, int]]:
    """Returns a sum of multiples of dimensions as pairs (dimension, factor)."""
    if isinstance(expression, ir.AffineDimExpr):
        return [(expression.position, 1)]
    if isinstance(expression, ir.AffineMulExpr):
        (dimension, _), *_ = sum_of_dimensions(expression.lhs)
        return [(dimension, ir.AffineConstantExpr(expression.rhs).value)]
    if isinstance(expression, ir.AffineAddExpr):
        return sum_of_dimensions(expression.lhs) + sum_of_dimensions(expression.rhs)
    # The constant 0, which indexes axes of size 1.
    return []
