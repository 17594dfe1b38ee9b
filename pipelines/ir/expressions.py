"""Scalar expressions, which create operations at the context's insertion point."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from torch_mlir import ir

from pipelines.ir.lazy_dialects import arith

# Splits 53 bits into halves.
_SPLIT = 2.0**27 + 1

Operand = "Scalar | float | int"


class Scalar:
    """A number: a float, a signless integer or an index, with Python's operators.

    Integers are signed, except for `%` and `>>`.
    """

    def __init__(self, value: ir.Value):
        self.value = value

    @property
    def is_float(self) -> bool:
        """Whether the value is a floating-point number."""
        return isinstance(self.value.type, ir.FloatType)

    def _with(self, other: Operand, floats: str, integers: str) -> Scalar:
        name = f"arith.{floats if self.is_float else integers}"
        return _made(name, self.value.type, self.value, self._like(other).value)

    def _like(self, other: Operand) -> Scalar:
        return other if isinstance(other, Scalar) else constant(other, self.value.type)

    def __add__(self, other: Operand) -> Scalar:
        return self._with(other, "addf", "addi")

    def __sub__(self, other: Operand) -> Scalar:
        return self._with(other, "subf", "subi")

    def __mul__(self, other: Operand) -> Scalar:
        return self._with(other, "mulf", "muli")

    def __truediv__(self, other: Operand) -> Scalar:
        return self._with(other, "divf", "divsi")

    def __mod__(self, other: Operand) -> Scalar:
        return self._with(other, "remf", "remui")

    def at_least(self, other: Operand) -> Scalar:
        """Returns the larger of two numbers; NaN if one is NaN."""
        return self._with(other, "maximumf", "maxsi")

    def at_most(self, other: Operand) -> Scalar:
        """Returns the smaller of two numbers; NaN if one is NaN."""
        return self._with(other, "minimumf", "minsi")

    def __radd__(self, other: float | int) -> Scalar:
        return self._like(other) + self

    def __rsub__(self, other: float | int) -> Scalar:
        return self._like(other) - self

    def __rmul__(self, other: float | int) -> Scalar:
        return self._like(other) * self

    def __rtruediv__(self, other: float | int) -> Scalar:
        return self._like(other) / self

    def __neg__(self) -> Scalar:
        return _made("arith.negf", self.value.type, self.value) if self.is_float else 0 - self

    def __and__(self, other: Operand) -> Scalar:
        return self._with(other, "", "andi")

    def __or__(self, other: Operand) -> Scalar:
        return self._with(other, "", "ori")

    def __xor__(self, other: Operand) -> Scalar:
        return self._with(other, "", "xori")

    def __invert__(self) -> Scalar:
        return self ^ (1 if self.value.type == _integer(1) else -1)

    def __lshift__(self, other: Operand) -> Scalar:
        return self._with(other, "", "shli")

    def __rshift__(self, other: Operand) -> Scalar:
        """Shifts right and fills with zeros."""
        return self._with(other, "", "shrui")

    def _compared(
        self, other: Operand, floats: arith.CmpFPredicate, integers: arith.CmpIPredicate
    ) -> Scalar:
        left, right = self.value, self._like(other).value
        if self.is_float:
            return Scalar(arith.CmpFOp(floats, left, right).result)
        return Scalar(arith.CmpIOp(integers, left, right).result)

    def __lt__(self, other: Operand) -> Scalar:
        return self._compared(other, arith.CmpFPredicate.OLT, arith.CmpIPredicate.slt)

    def __le__(self, other: Operand) -> Scalar:
        return self._compared(other, arith.CmpFPredicate.OLE, arith.CmpIPredicate.sle)

    def __gt__(self, other: Operand) -> Scalar:
        return self._compared(other, arith.CmpFPredicate.OGT, arith.CmpIPredicate.sgt)

    def __ge__(self, other: Operand) -> Scalar:
        return self._compared(other, arith.CmpFPredicate.OGE, arith.CmpIPredicate.sge)

    def equals(self, other: Operand) -> Scalar:
        """Compares numbers for equality; false if either is NaN."""
        return self._compared(other, arith.CmpFPredicate.OEQ, arith.CmpIPredicate.eq)

    def is_below(self, other: Operand) -> Scalar:
        """Compares integers as unsigned: less than."""
        right = self._like(other).value
        return Scalar(arith.CmpIOp(arith.CmpIPredicate.ult, self.value, right).result)

    def is_nan(self) -> Scalar:
        """Returns whether a number is NaN."""
        return Scalar(arith.CmpFOp(arith.CmpFPredicate.UNO, self.value, self.value).result)

    def bits(self) -> Scalar:
        """Returns the integer with the same bits as this float."""
        return _made("arith.bitcast", _integer(self.value.type.width), self.value)

    def as_bits(self, kind: ir.Type | None = None) -> Scalar:
        """Returns the float with the same bits as this integer, an f64 by default."""
        return _made("arith.bitcast", kind or ir.F64Type.get(), self.value)

    def to(self, kind: ir.Type, signed: bool = True) -> Scalar:
        """Converts to another type of floats or integers.

        A float is rounded. As an integer, it must be a whole number and in range.

        Args:
            signed: whether the integers are signed.
        """
        source = self.value.type
        if kind == source:
            return self
        sign = "s" if signed else "u"
        if isinstance(kind, ir.FloatType) != self.is_float:
            name = f"fpto{sign}i" if self.is_float else f"{sign}itofp"
        elif kind.width < source.width:
            name = "truncf" if self.is_float else "trunci"
        else:
            name = "extf" if self.is_float else f"ext{sign}i"
        return _made(f"arith.{name}", kind, self.value)

    def to_float(self, signed: bool = True) -> Scalar:
        """Converts an integer to f64, rounded."""
        return self.to(ir.F64Type.get(), signed)

    def to_integer(self) -> Scalar:
        """Converts a float to i64; it must be a whole number and in range."""
        return self.to(_integer(64))

    def math(self, name: str) -> Scalar:
        """Applies a function of MLIR's `math` dialect."""
        return _made(f"math.{name}", self.value.type, self.value)

    def size(self) -> Scalar:
        """Returns the absolute value."""
        return self.math("absf")

    def times_wide(self, other: Scalar) -> tuple[Scalar, Scalar]:
        """Returns the low and the high half of the product of two unsigned i64."""
        kind = _integer(64)
        product = ir.Operation.create(
            "arith.mului_extended", [kind, kind], [self.value, other.value]
        )
        low, high = product.results
        return Scalar(low), Scalar(high)


def constant(number: float | int, kind: ir.Type | None = None) -> Scalar:
    """Creates a constant, an f64 by default."""
    kind = kind or ir.F64Type.get()
    if isinstance(kind, ir.FloatType):
        attribute = ir.FloatAttr.get(kind, float(number))
    elif isinstance(kind, ir.IndexType):
        attribute = ir.IntegerAttr.get(kind, number)
    else:
        width = ir.IntegerType(kind).width
        number = number % 2**width
        # Signless attributes take signed values: the upper half is negative.
        signed = number - 2**width if number >= 2 ** (width - 1) and width > 1 else number
        attribute = ir.IntegerAttr.get(kind, signed)
    return Scalar(arith.ConstantOp(kind, attribute).result)


def integer(number: int) -> Scalar:
    """Creates a constant i64."""
    return constant(number, _integer(64))


def select(condition: Scalar, yes: Operand, no: Operand) -> Scalar:
    """Returns `yes` if the condition holds, else `no`; both are computed."""
    if not isinstance(yes, Scalar):
        yes = no._like(yes) if isinstance(no, Scalar) else constant(yes)
    return Scalar(arith.SelectOp(condition.value, yes.value, yes._like(no).value).result)


def branch(
    condition: Scalar, yes: Callable[[], Sequence[Scalar]], no: Sequence[Scalar]
) -> list[Scalar]:
    """Returns the values of `yes()` if the condition holds, else `no`.

    The operations of `yes` run only if they are needed.
    """
    kinds = [each.value.type for each in no]
    operation = ir.Operation.create("scf.if", kinds, [condition.value], regions=2)
    for region, make in zip(operation.regions, (yes, lambda: no), strict=True):
        with ir.InsertionPoint(region.blocks.append()):
            results = [each.value for each in make()]
            ir.Operation.create("scf.yield", [], results)
    return [Scalar(result) for result in operation.results]


def choose(
    condition: Scalar, yes: Callable[[], Sequence[Scalar]], no: Sequence[Scalar]
) -> list[Scalar]:
    """Returns the same values as `branch`, but computes all of them."""
    return [select(condition, *each) for each in zip(yes(), no, strict=True)]


def repeat(
    start: Sequence[Scalar],
    more: Callable[..., Scalar],
    advance: Callable[..., Sequence[Scalar]],
) -> list[Scalar]:
    """Creates a loop that applies `advance` to the state while `more` holds; returns the state."""
    values = [each.value for each in start]
    kinds = [value.type for value in values]
    operation = ir.Operation.create("scf.while", kinds, values, regions=2)
    before, after = (region.blocks.append(*kinds) for region in operation.regions)
    with ir.InsertionPoint(before):
        state = list(before.arguments)
        ir.Operation.create("scf.condition", [], [more(*map(Scalar, state)).value, *state])
    with ir.InsertionPoint(after):
        now = advance(*map(Scalar, after.arguments))
        ir.Operation.create("scf.yield", [], [each.value for each in now])
    return [Scalar(result) for result in operation.results]


def polynomial(coefficients: Sequence[float], x: Scalar) -> Scalar:
    """Evaluates the polynomial with these coefficients, the highest power's first."""
    first, *rest = coefficients
    value = x * 0 + first if not rest else first * x + rest[0]
    for coefficient in rest[1:]:
        value = value * x + coefficient
    return value


def fused_polynomial(coefficients: Sequence[float], x: Scalar) -> Scalar:
    """Evaluates a polynomial like `polynomial`, with `multiply_add`."""
    first, *rest = coefficients
    value = constant(first, x.value.type)
    for coefficient in rest:
        value = multiply_add(value, x, coefficient)
    return value


def multiply_add(x: Scalar, y: Operand, z: Operand) -> Scalar:
    """Returns `x * y + z`, rounded once where the processor can, and twice elsewhere."""
    kind = x.value.type
    product = _made("arith.mulf", kind, x.value, x._like(y).value)
    total = _made("arith.addf", kind, product.value, x._like(z).value)
    for each in (product, total):
        each.value.owner.attributes["fastmath"] = ir.Attribute.parse("#arith.fastmath<contract>")
    return total


def product_rest(x: Scalar, y: Scalar, product: Scalar) -> Scalar:
    """Returns the exact product minus the rounded one (Dekker's algorithm)."""
    upper, lower = _halves(x)
    above, below = _halves(y)
    return ((upper * above - product) + upper * below + lower * above) + lower * below


def _halves(x: Scalar) -> tuple[Scalar, Scalar]:
    scaled = x * _SPLIT
    upper = scaled - (scaled - x)
    return upper, x - upper


def with_sign_of(size: Scalar, x: Scalar) -> Scalar:
    """Returns the f64 `size`, which is not negative, with the sign of `x`, also of a zero."""
    sign = x.bits() & (1 << 63)
    return (size.bits() | sign).as_bits()


def _made(name: str, kind: ir.Type, *operands: ir.Value) -> Scalar:
    return Scalar(ir.Operation.create(name, [kind], operands).result)


def _integer(width: int) -> ir.Type:
    return ir.IntegerType.get_signless(width)
