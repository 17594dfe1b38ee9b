"""Computes the sizes of a function's tensors: integers, or expressions if they are dynamic."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from torch_mlir import ir

from pipelines.ir.lazy_dialects import arith, linalg
from pipelines.ir.values import producer, producer_named, terminator
from unmess.core.errors.user_source import location_line
from unmess.core.signature.size_expression import SizeExpression

if TYPE_CHECKING:
    import sympy

Size: TypeAlias = "int | sympy.Expr"

_DYNAMIC = ir.ShapedType.get_dynamic_size()
# The result has the shape of this operand. With several results, later operands follow in order.
_SAME_AS_OPERAND = {
    "tensor.cast": 0,
    "tensor.insert_slice": 1,
    "tensor.insert": 1,
    "tensor.scatter": 1,
    "arith.select": 1,
    "scf.while": 0,
}
_INTEGER: dict[str, Callable[[Size, Size], Size]] = {
    "arith.addi": operator.add,
    "arith.subi": operator.sub,
    "arith.muli": operator.mul,
    "arith.divsi": operator.floordiv,
    "arith.divui": operator.floordiv,
    "arith.floordivsi": operator.floordiv,
    "arith.ceildivsi": lambda a, b: -(-a // b),
    "arith.ceildivui": lambda a, b: -(-a // b),
    "arith.remsi": operator.mod,
    "arith.remui": operator.mod,
    "arith.maxsi": lambda a, b: _extreme(max, "Max", a, b),
    "arith.maxui": lambda a, b: _extreme(max, "Max", a, b),
    "arith.minsi": lambda a, b: _extreme(min, "Min", a, b),
    "arith.minui": lambda a, b: _extreme(min, "Min", a, b),
}
_DIVISIONS = frozenset(name for name in _INTEGER if "div" in name or "rem" in name)
_CASTS = frozenset(
    f"arith.{name}" for name in ("index_cast", "index_castui", "extsi", "extui", "trunci")
)
_COMPARISONS = {
    arith.CmpIPredicate.eq: operator.eq,
    arith.CmpIPredicate.ne: operator.ne,
    arith.CmpIPredicate.slt: operator.lt,
    arith.CmpIPredicate.ult: operator.lt,
    arith.CmpIPredicate.sle: operator.le,
    arith.CmpIPredicate.ule: operator.le,
    arith.CmpIPredicate.sgt: operator.gt,
    arith.CmpIPredicate.ugt: operator.gt,
    arith.CmpIPredicate.sge: operator.ge,
    arith.CmpIPredicate.uge: operator.ge,
}


class Sizes:
    """The sizes of the tensors of one function.

    Attributes:
        symbols: the meaning of each symbol by name, including symbols with a value.
    """

    def __init__(
        self,
        arguments: Mapping[ir.Value, Sequence[int | str]],
        values: Mapping[str, int],
    ):
        """Creates the sizes from those of the function's arguments.

        Args:
            arguments: the shapes of the function's arguments that have dynamic dimensions. A
                dynamic dimension is an expression over symbols, in PyTorch's syntax.
            values: the values of symbols. Symbols without a value stay symbols.
        """
        self._arguments = arguments
        self._values = values
        self._shapes: dict[ir.Value, tuple[Size, ...]] = {}
        self._numbers: dict[ir.Value, Size] = {}
        self.symbols: dict[str, str] = {}

    def shape(self, value: ir.Value) -> tuple[Size, ...]:
        """Returns the sizes of a ranked tensor."""
        if value not in self._shapes:
            static = ir.ShapedType(value.type).shape
            dynamic = _DYNAMIC in static
            found = self._dynamic_shape(value, tuple(static)) if dynamic else tuple(static)
            # Prefer static sizes over expressions.
            self._shapes[value] = tuple(
                size if known == _DYNAMIC else known
                for known, size in zip(static, found, strict=True)
            )
        return self._shapes[value]

    def elements(self, value: ir.Value) -> Size:
        """Returns the number of elements of a ranked tensor."""
        return math.prod(self.shape(value))

    def number(self, value: ir.Value) -> Size:
        """Returns an integer that the program computes from sizes; a new symbol if unknown."""
        if value not in self._numbers:
            self._numbers[value] = self._number(value)
        return self._numbers[value]

    def loops(self, structured: ir.Operation) -> tuple[Size, ...]:
        """Returns the range of each loop of a linalg operation that has indexing maps."""
        maps = indexing_maps(structured)
        ranges: list[Size | None] = [None] * maps[0].n_dims
        for operand, indexing in zip(structured.operands, maps, strict=True):
            for axis, expression in enumerate(indexing.results):
                if isinstance(expression, ir.AffineDimExpr):
                    position = ir.AffineDimExpr(expression).position
                    size = self.shape(operand)[axis]
                    if not isinstance(ranges[position], int):
                        ranges[position] = size
        return tuple(
            self.unknown("d", f"a loop of {described(structured)}") if size is None else size
            for size in ranges
        )

    def unknown(self, prefix: str, origin: str) -> Size:
        """Creates a symbol for a number that is known only at run time."""
        taken = [name for name in self.symbols if name.rstrip("0123456789") == prefix]
        return self._symbol(f"{prefix}{len(taken)}", origin)

    def _symbol(self, name: str, origin: str) -> Size:
        self.symbols.setdefault(name, origin)
        if name in self._values:
            return self._values[name]
        # Import it here: it takes half a second, and static programs do not need it.
        import sympy

        return sympy.Symbol(name, integer=True, positive=True)

    def _dynamic_shape(self, value: ir.Value, static: tuple[int, ...]) -> tuple[Size, ...]:
        if value in self._arguments:
            return tuple(
                self._declared(size, value, axis)
                for axis, size in enumerate(self._arguments[value])
            )
        operation = producer(value)
        if operation is None:
            return self._carried_shape(value, value.owner, static)
        found = self._result_shape(operation, value, static)
        if found is None:
            return tuple(
                self.unknown("d", f"axis {axis} of {described(operation)}")
                if size == _DYNAMIC
                else size
                for axis, size in enumerate(static)
            )
        return found

    def _declared(self, size: int | str, value: ir.Value, axis: int) -> Size:
        if isinstance(size, int):
            return size
        expression = SizeExpression(size) if "." not in size else None
        place = f"axis {axis} of argument {ir.BlockArgument(value).arg_number}"
        if expression is None:
            return self._symbol(size, place)
        exact = size == next(iter(expression.names), None)
        symbols = {
            name: self._symbol(name, place if exact else f"in {size}, {place}")
            for name in expression.names
        }
        return expression.evaluate(symbols)

    def _carried_shape(
        self, value: ir.Value, block: ir.Block, static: tuple[int, ...]
    ) -> tuple[Size, ...]:
        """Returns the shape of a tensor that a loop carries, which is that of its initial value."""
        loop, position = block.owner, ir.BlockArgument(value).arg_number
        if loop.name == "scf.for" and position > 0:
            return self.shape(loop.operands[2 + position])
        if loop.name == "scf.while" and position < len(loop.operands):
            return self.shape(loop.operands[position])
        return tuple(
            self.unknown("d", f"axis {axis} of an argument of {described(loop)}")
            if size == _DYNAMIC
            else size
            for axis, size in enumerate(static)
        )

    def _result_shape(
        self, operation: ir.Operation, value: ir.Value, static: tuple[int, ...]
    ) -> tuple[Size, ...] | None:
        name, view = operation.name, operation.opview
        position = ir.OpResult(value).result_number
        if is_destination_style(operation):
            return self.shape(destinations(operation)[position])
        if name in _SAME_AS_OPERAND:
            return self.shape(operation.operands[_SAME_AS_OPERAND[name] + position])
        if name in ("tensor.empty", "tensor.generate", "tensor.splat"):
            sizes = list(operation.operands)[1 if name == "tensor.splat" else 0 :]
            return self._filled(static, sizes)
        if name == "tensor.expand_shape":
            return self._filled(view.static_output_shape, view.output_shape)
        if name == "tensor.collapse_shape":
            shape = self.shape(operation.operands[0])
            return tuple(
                math.prod(shape[ir.IntegerAttr(axis).value] for axis in group)
                for group in view.reassociation
            )
        if name == "tensor.extract_slice":
            sizes = self._filled(view.static_sizes, view.sizes)
            return sizes if len(sizes) == len(static) else None
        if name == "tensor.pad":
            low = self._filled(view.static_low, view.low)
            high = self._filled(view.static_high, view.high)
            inner = self.shape(operation.operands[0])
            return tuple(a + b + c for a, b, c in zip(low, inner, high, strict=True))
        if name == "tensor.concat":
            shapes = [self.shape(operand) for operand in operation.operands]
            axis = view.dim.value
            joined = sum(shape[axis] for shape in shapes)
            return (*shapes[0][:axis], joined, *shapes[0][axis + 1 :])
        if name == "tensor.reshape":
            return self._elements_of(operation.operands[1], len(static))
        if name == "scf.for":
            return self.shape(operation.operands[3 + position])
        if name == "scf.if":
            return self.shape(terminator(operation.regions[0].blocks[0]).operands[position])
        if name.startswith(("arith.", "math.")) and operation.operands:
            return self.shape(operation.operands[0])
        return None

    def _filled(self, static: Sequence[int], dynamic: Sequence[ir.Value]) -> tuple[Size, ...]:
        rest = iter(dynamic)
        return tuple(self.number(next(rest)) if size == _DYNAMIC else size for size in static)

    def _elements_of(self, tensor: ir.Value, count: int) -> tuple[Size, ...] | None:
        made = producer_named(tensor, "tensor.from_elements")
        if made is None:
            return None
        operands = list(made.operands)
        return tuple(map(self.number, operands)) if len(operands) == count else None

    def _number(self, value: ir.Value) -> Size:
        operation = producer(value)
        if operation is None:
            return self.unknown("n", f"an argument of {described(value.owner.owner)}")
        name, operands = operation.name, list(operation.operands)
        if name == "arith.constant":
            attribute = operation.attributes["value"]
            if isinstance(attribute, (ir.IntegerAttr, ir.BoolAttr)):
                return int(attribute.value)
        if name in _CASTS:
            return self.number(operands[0])
        if name == "tensor.dim":
            axis = self.number(operands[1])
            if isinstance(axis, int):
                return self.shape(operands[0])[axis]
        if name in _INTEGER:
            a, b = map(self.number, operands)
            if b != 0 or name not in _DIVISIONS:
                return _INTEGER[name](a, b)
        if name == "arith.cmpi":
            predicate = arith.CmpIPredicate(ir.IntegerAttr(operation.attributes["predicate"]).value)
            holds = _COMPARISONS[predicate](*map(self.number, operands))
            if holds in (True, False):
                return int(bool(holds))
        if name == "arith.select" and isinstance(chosen := self.number(operands[0]), int):
            return self.number(operands[1 if chosen else 2])
        if name in ("affine.apply", "affine.min", "affine.max"):
            return self._affine(operation)
        return self.unknown("n", described(operation))

    def _affine(self, operation: ir.Operation) -> Size:
        attribute = "map" if "map" in operation.attributes else "affine_map"
        mapping = ir.AffineMapAttr(operation.attributes[attribute]).value
        operands = [self.number(operand) for operand in operation.operands]
        dims, symbols = operands[: mapping.n_dims], operands[mapping.n_dims :]
        results = [_affine_value(each, dims, symbols) for each in mapping.results]
        if operation.name == "affine.min":
            return _extreme(min, "Min", *results)
        return _extreme(max, "Max", *results) if operation.name == "affine.max" else results[0]


def indexing_maps(structured: ir.Operation) -> list[ir.AffineMap]:
    """Returns the map from loops to elements for each operand of a linalg operation."""
    return [ir.AffineMapAttr(each).value for each in linalg.get_indexing_maps(structured)]


def is_structured(operation: ir.Operation) -> bool:
    """Returns whether an operation is a linalg operation with indexing maps and a body."""
    return (
        operation.name.startswith("linalg.")
        and len(operation.regions) == 1
        and linalg.get_indexing_maps(operation) is not None
    )


def is_destination_style(operation: ir.Operation) -> bool:
    """Returns whether an operation is destination-style: its last operands become its results."""
    return operation.name.startswith(("linalg.", "tm_tensor.")) and operation.name not in (
        "linalg.yield",
        "linalg.index",
        "tm_tensor.yield",
    )


def destinations(operation: ir.Operation) -> list[ir.Value]:
    """Returns the operands that become the results of a destination-style operation."""
    return list(operation.operands)[len(operation.operands) - len(operation.results) :]


def described(operation: ir.Operation | ir.OpView) -> str:
    """Returns an operation's name, with the user's source line if known."""
    line = location_line(operation.operation.location)
    return operation.operation.name + (f" at {line}" if line else "")


def _affine_value(expression: ir.AffineExpr, dims: list[Size], symbols: list[Size]) -> Size:
    if isinstance(expression, ir.AffineConstantExpr):
        return ir.AffineConstantExpr(expression).value
    if isinstance(expression, ir.AffineDimExpr):
        return dims[ir.AffineDimExpr(expression).position]
    if isinstance(expression, ir.AffineSymbolExpr):
        return symbols[ir.AffineSymbolExpr(expression).position]
    binary = ir.AffineBinaryExpr(expression)
    a, b = (_affine_value(each, dims, symbols) for each in (binary.lhs, binary.rhs))
    if isinstance(expression, ir.AffineAddExpr):
        return a + b
    if isinstance(expression, ir.AffineMulExpr):
        return a * b
    if isinstance(expression, ir.AffineModExpr):
        return a % b
    return -(-a // b) if isinstance(expression, ir.AffineCeilDivExpr) else a // b


def _extreme(exact: Callable[..., int], name: str, *sizes: Size) -> Size:
    if all(isinstance(size, int) for size in sizes):
        return exact(sizes)
    import sympy

    return getattr(sympy, name)(*sizes)
