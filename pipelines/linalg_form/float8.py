"""Lowers conversions from and to 8-bit floats to integer arithmetic.

LLVM has no such types. IREE converts them only from and to f32, and returns numbers instead of NaN.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch_mlir import ir
from torch_mlir.passmanager import PassManager

from pipelines.ir.expressions import Scalar, select
from pipelines.ir.lazy_dialects import func
from pipelines.ir.modules import find_operations, replace_operations
from pipelines.pipeline import Step

_PREFIX = "unmess_float8_"
_CASTS = (
    "arith.extf",
    "arith.truncf",
    "arith.sitofp",
    "arith.uitofp",
    "arith.fptosi",
    "arith.fptoui",
)
# The bits of f32's infinity, and of a NaN.
_INFINITE, _NAN = 0x7F800000, 0x7FC00000


@dataclass(frozen=True)
class _Format:
    """A format with a sign, an exponent and a mantissa.

    Attributes:
        mantissa: the number of bits of the mantissa.
        bias: the bias of the exponent.
        limit: the bits of the smallest f32 that becomes `overflow` instead of being rounded.
        overflow: the code for numbers that are too large: infinity, NaN or the largest number.
        nan: the code of NaN. Formats without infinity have only one, apart from its sign.
    """

    mantissa: int
    bias: int
    limit: int
    overflow: int
    nan: int

    @property
    def has_infinity(self) -> bool:
        """Whether the format has infinity. The codes above it are NaN."""
        return self.overflow < self.nan - 1

    @property
    def has_negative_zero(self) -> bool:
        """Whether the format has -0. If not, its code is NaN."""
        return self.nan != 0x80


# The limits are 464, 65536, 256 and 65536. PyTorch's conversion to E4M3FN saturates.
_FORMATS: dict[str, _Format] = {
    "f8E4M3FN": _Format(3, 7, 0x43E80000, 0x7E, 0x7F),
    "f8E5M2": _Format(2, 15, 0x47800000, 0x7C, 0x7F),
    "f8E4M3FNUZ": _Format(3, 8, 0x43800000, 0x80, 0x80),
    "f8E5M2FNUZ": _Format(2, 16, 0x47800000, 0x80, 0x80),
}


def expand_float8_casts(module: ir.Module) -> None:
    """Replaces conversions from and to 8-bit floats with calls of functions on their bits.

    All go through f32, as in eager. The private functions are added to the module and must be
    inlined. Conversions in the bodies of named operations stay: the text of these operations does
    not contain the bodies.
    """
    with module.context, ir.Location.unknown():
        names: set[str] = set()
        found = find_operations(module, _is_cast)
        replace_operations(found, lambda operation: _converted(operation, names))
        for name in sorted(names):
            _define(name, module)


def inline_float8_casts(module: ir.Module) -> None:
    """Replaces conversions from and to 8-bit floats with integer arithmetic, in place."""
    with module.context:
        expand_float8_casts(module)
        if any(_PREFIX in str(each.attributes["sym_name"]) for each in module.body.operations):
            passes = "builtin.module(inline{default-pipeline=},symbol-dce)"
            PassManager.parse(passes).run(module.operation)


def _is_cast(operation: ir.Operation) -> bool:
    """Returns whether an operation converts 8-bit floats, and is not part of a named operation."""
    if operation.name not in _CASTS:
        return False
    parent = operation.parent.name
    if parent.startswith("linalg.") and parent != "linalg.generic":
        return False
    return _is_float8(operation.operands[0].type) or _is_float8(operation.results[0].type)


def _is_float8(kind: ir.Type) -> bool:
    return isinstance(kind, ir.FloatType) and ir.FloatType(kind).width == 8


def _converted(operation: ir.Operation, names: set[str]) -> ir.Value:
    value, target = Scalar(operation.operands[0]), operation.results[0].type
    source, single, byte = value.value.type, ir.F32Type.get(), ir.IntegerType.get_signless(8)

    def call(name: str, kind: ir.Type, operand: Scalar) -> Scalar:
        names.add(name)
        return Scalar(func.CallOp([kind], name, [operand.value]).result)

    signed = operation.name not in ("arith.uitofp", "arith.fptoui")
    if _is_float8(source):
        value = call(f"{_PREFIX}from_{source}", single, value.bits())
    else:
        value = value.to(single, signed)
    if _is_float8(target):
        return call(f"{_PREFIX}to_{target}", byte, value).as_bits(target).value
    return value.to(target, signed).value


def _define(name: str, module: ir.Module) -> None:
    """Adds a function from i8 to f32, or from f32 to i8, to a module."""
    direction, kind = name.removeprefix(_PREFIX).split("_", 1)
    types = [[ir.IntegerType.get_signless(8)], [ir.F32Type.get()]]
    inputs, results = types if direction == "from" else types[::-1]
    with ir.InsertionPoint(module.body):
        function = func.FuncOp(name, (inputs, results), visibility="private")
    with ir.InsertionPoint(function.add_entry_block()):
        x = Scalar(function.arguments[0])
        if kind == "f8E8M0FNU":
            result = _from_exponent(x) if direction == "from" else _to_exponent(x)
        else:
            result = (_from if direction == "from" else _to)(x, _FORMATS[kind])
        func.ReturnOp([result.value])


def _from(x: Scalar, form: _Format) -> Scalar:
    """Shifts the magnitude into f32's fields, and corrects the exponent.

    A subnormal number is its mantissa times a power of two. All results are normal numbers of f32,
    because IREE treats subnormal ones as 0.
    """
    single = ir.F32Type.get()
    wide = x.to(ir.IntegerType.get_signless(32), signed=False)
    magnitude = wide & 0x7F
    placed = magnitude << (23 - form.mantissa)
    small = magnitude.to(single) * 2.0 ** (1 - form.bias - form.mantissa)
    is_small = magnitude.is_below(1 << form.mantissa)
    number = select(is_small, small.bits(), placed + ((127 - form.bias) << 23))
    if form.has_infinity:
        number = select(magnitude.is_below(form.overflow), number, placed | _INFINITE)
    else:
        code = magnitude if form.has_negative_zero else wide
        number = select(code.equals(form.nan), _NAN, number)
    return (number | ((wide & 0x80) << 24)).as_bits(single)


def _to(x: Scalar, form: _Format) -> Scalar:
    """Rounds to nearest, ties to even.

    Normal results are rounded by an integer addition that carries. Subnormal results are rounded by
    the addition of a float whose last place is the last place of the result.
    """
    shift = 23 - form.mantissa
    bits = x.bits()
    magnitude = bits & 0x7FFFFFFF
    aligned = magnitude.as_bits(x.value.type) + 2.0 ** (1 - form.bias + shift)
    below = aligned.bits() - ((128 - form.bias + shift) << 23)
    carry = ((form.bias - 127) << 23) + (1 << (shift - 1)) - 1
    normal = (magnitude + carry + ((magnitude >> shift) & 1)) >> shift
    rounded = select(magnitude.is_below((128 - form.bias) << 23), below, normal)
    limited = select(magnitude.is_below(form.limit), rounded, form.overflow)
    code = select(magnitude > _INFINITE, form.nan, limited)
    signed = code | ((bits >> 24) & 0x80)
    if not form.has_negative_zero:
        signed = select(code.equals(0), 0, signed)
    return signed.to(ir.IntegerType.get_signless(8))


# f8E8M0FNU has only an exponent, with the bias of f32. 255 is NaN.


def _from_exponent(x: Scalar) -> Scalar:
    exponent = x.to(ir.IntegerType.get_signless(32), signed=False)
    bits = select(exponent.equals(0), 0x00400000, exponent << 23)
    return select(exponent.equals(255), _NAN, bits).as_bits(ir.F32Type.get())


def _to_exponent(x: Scalar) -> Scalar:
    exponent, tail, half = (x.bits() >> 23) & 255, x.bits() & 0x007FFFFF, 0x00400000
    rounds_up = (tail > half) | (tail.equals(half) & ~exponent.equals(0))
    rounded = exponent + rounds_up.to(exponent.value.type, signed=False)
    return select(exponent.equals(255), 255, rounded).to(ir.IntegerType.get_signless(8))


INLINE_FLOAT8_CASTS = Step(
    "inline-float8-casts",
    "lower casts from and to 8-bit floats; IREE's fail or return other values for NaN",
    inline_float8_casts,
)
