"""Lowers conversions from and to 8-bit floats to integer arithmetic.

LLVM has no such types. IREE converts them from and to f32 only, and has numbers in place of NaN.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch_mlir import ir
from torch_mlir.passmanager import PassManager

from pipelines.ir.lazy_dialects import arith, func
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
            for function in ir.Module.parse(_definition(name)).body.operations:
                function.operation.clone(ip=ir.InsertionPoint(module.body))


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
    value, target, single = operation.operands[0], operation.results[0].type, ir.F32Type.get()
    byte = ir.IntegerType.get_signless(8)
    if _is_float8(value.type):
        name = f"{_PREFIX}from_{value.type}"
        names.add(name)
        value = func.CallOp([single], name, [arith.BitcastOp(byte, value).result]).result
    elif operation.name in ("arith.sitofp", "arith.uitofp"):
        convert = arith.SIToFPOp if operation.name == "arith.sitofp" else arith.UIToFPOp
        value = convert(single, value).result
    elif value.type != single:
        convert = arith.TruncFOp if isinstance(value.type, ir.F64Type) else arith.ExtFOp
        value = convert(single, value).result
    if _is_float8(target):
        name = f"{_PREFIX}to_{target}"
        names.add(name)
        return arith.BitcastOp(target, func.CallOp([byte], name, [value]).result).result
    if operation.name in ("arith.fptosi", "arith.fptoui"):
        convert = arith.FPToSIOp if operation.name == "arith.fptosi" else arith.FPToUIOp
        return convert(target, value).result
    if target == single:
        return value
    convert = arith.ExtFOp if isinstance(target, ir.F64Type) else arith.TruncFOp
    return convert(target, value).result


def _definition(name: str) -> str:
    direction, kind = name.removeprefix(_PREFIX).split("_", 1)
    if kind == "f8E8M0FNU":
        return (_FROM_EXPONENT if direction == "from" else _TO_EXPONENT).format(name=name)
    return (_from if direction == "from" else _to)(name, _FORMATS[kind])


def _from(name: str, form: _Format) -> str:
    """Returns a function that shifts the magnitude into f32's fields, and corrects the exponent.

    A subnormal number is its mantissa times a power of two. All results are normal numbers of f32,
    because IREE treats subnormal ones as 0.
    """
    special = (
        f"""
  %infinity = arith.constant {form.overflow} : i32
  %is_special = arith.cmpi uge, %magnitude, %infinity : i32
  %above = arith.constant 0x7F800000 : f32
  %above_bits = arith.bitcast %above : f32 to i32
  %special = arith.ori %placed, %above_bits : i32"""
        if form.has_infinity
        else f"""
  %code = arith.constant {form.nan} : i32
  %is_special = arith.cmpi eq, %{"magnitude" if form.has_negative_zero else "wide"}, %code : i32
  %special = arith.constant 0x7FC00000 : i32"""
    )
    return f"""
func.func private @{name}(%x: i8) -> f32 {{
  %wide = arith.extui %x : i8 to i32
  %seven_bits = arith.constant 0x7F : i32
  %shift = arith.constant {23 - form.mantissa} : i32
  %top = arith.constant 24 : i32
  %sign_bit = arith.constant 0x80 : i32
  %smallest = arith.constant {1 << form.mantissa} : i32
  %exponent = arith.constant {(127 - form.bias) << 23} : i32
  %last_place = arith.constant {(128 - form.bias - form.mantissa) << 23:#010x} : f32
  %magnitude = arith.andi %wide, %seven_bits : i32
  %placed = arith.shli %magnitude, %shift : i32
  %normal = arith.addi %placed, %exponent : i32
  %mantissa = arith.uitofp %magnitude : i32 to f32
  %small = arith.mulf %mantissa, %last_place : f32
  %small_bits = arith.bitcast %small : f32 to i32
  %is_small = arith.cmpi ult, %magnitude, %smallest : i32
  %number = arith.select %is_small, %small_bits, %normal : i32{special}
  %unsigned = arith.select %is_special, %special, %number : i32
  %sign = arith.andi %wide, %sign_bit : i32
  %sign_placed = arith.shli %sign, %top : i32
  %bits = arith.ori %unsigned, %sign_placed : i32
  %result = arith.bitcast %bits : i32 to f32
  return %result : f32
}}"""


def _to(name: str, form: _Format) -> str:
    """Returns a function that rounds to nearest, ties to even.

    Normal results are rounded by an integer addition that carries. Subnormal results are rounded by
    the addition of a float whose last place is the last place of the result.
    """
    shift = 23 - form.mantissa
    smallest = (128 - form.bias) << 23
    aligned = (128 - form.bias + shift) << 23
    carry = ((form.bias - 127) << 23) + (1 << (shift - 1)) - 1
    if form.has_negative_zero:
        signed = """
  %wide = arith.ori %code, %sign_placed : i32"""
    else:
        signed = """
  %zero = arith.constant 0 : i32
  %is_zero = arith.cmpi eq, %code, %zero : i32
  %with_sign = arith.ori %code, %sign_placed : i32
  %wide = arith.select %is_zero, %zero, %with_sign : i32"""
    return f"""
func.func private @{name}(%x: f32) -> i8 {{
  %seven_bits = arith.constant 0x7FFFFFFF : i32
  %shift = arith.constant {shift} : i32
  %one = arith.constant 1 : i32
  %top = arith.constant 24 : i32
  %sign_bit = arith.constant 0x80 : i32
  %smallest = arith.constant {smallest} : i32
  %aligned = arith.constant {aligned:#010x} : f32
  %aligned_bits = arith.constant {aligned} : i32
  %carry = arith.constant {carry} : i32
  %limit = arith.constant {form.limit} : i32
  %overflow = arith.constant {form.overflow} : i32
  %nan = arith.constant {form.nan} : i32
  %infinite = arith.constant 0x7F800000 : i32
  %bits = arith.bitcast %x : f32 to i32
  %magnitude = arith.andi %bits, %seven_bits : i32
  %float = arith.bitcast %magnitude : i32 to f32
  %sum = arith.addf %float, %aligned : f32
  %sum_bits = arith.bitcast %sum : f32 to i32
  %below = arith.subi %sum_bits, %aligned_bits : i32
  %shifted = arith.shrui %magnitude, %shift : i32
  %odd = arith.andi %shifted, %one : i32
  %carried = arith.addi %magnitude, %carry : i32
  %even = arith.addi %carried, %odd : i32
  %normal = arith.shrui %even, %shift : i32
  %is_below = arith.cmpi ult, %magnitude, %smallest : i32
  %rounded = arith.select %is_below, %below, %normal : i32
  %is_above = arith.cmpi uge, %magnitude, %limit : i32
  %limited = arith.select %is_above, %overflow, %rounded : i32
  %is_nan = arith.cmpi ugt, %magnitude, %infinite : i32
  %code = arith.select %is_nan, %nan, %limited : i32
  %sign_moved = arith.shrui %bits, %top : i32
  %sign_placed = arith.andi %sign_moved, %sign_bit : i32{signed}
  %result = arith.trunci %wide : i32 to i8
  return %result : i8
}}"""


# f8E8M0FNU has only an exponent, with the bias of f32. 255 is NaN.
_FROM_EXPONENT = """
func.func private @{name}(%x: i8) -> f32 {{
  %wide = arith.extui %x : i8 to i32
  %shift = arith.constant 23 : i32
  %zero = arith.constant 0 : i32
  %all = arith.constant 255 : i32
  %smallest = arith.constant 0x00400000 : i32
  %nan = arith.constant 0x7FC00000 : i32
  %placed = arith.shli %wide, %shift : i32
  %is_zero = arith.cmpi eq, %wide, %zero : i32
  %is_nan = arith.cmpi eq, %wide, %all : i32
  %number = arith.select %is_zero, %smallest, %placed : i32
  %bits = arith.select %is_nan, %nan, %number : i32
  %result = arith.bitcast %bits : i32 to f32
  return %result : f32
}}"""
_TO_EXPONENT = """
func.func private @{name}(%x: f32) -> i8 {{
  %shift = arith.constant 23 : i32
  %zero = arith.constant 0 : i32
  %all = arith.constant 255 : i32
  %tail_bits = arith.constant 0x007FFFFF : i32
  %half = arith.constant 0x00400000 : i32
  %bits = arith.bitcast %x : f32 to i32
  %shifted = arith.shrui %bits, %shift : i32
  %exponent = arith.andi %shifted, %all : i32
  %tail = arith.andi %bits, %tail_bits : i32
  %above_half = arith.cmpi ugt, %tail, %half : i32
  %is_half = arith.cmpi eq, %tail, %half : i32
  %normal = arith.cmpi ne, %exponent, %zero : i32
  %tie = arith.andi %is_half, %normal : i1
  %up = arith.ori %above_half, %tie : i1
  %one = arith.extui %up : i1 to i32
  %rounded = arith.addi %exponent, %one : i32
  %is_nan = arith.cmpi eq, %exponent, %all : i32
  %wide = arith.select %is_nan, %all, %rounded : i32
  %result = arith.trunci %wide : i32 to i8
  return %result : i8
}}"""


INLINE_FLOAT8_CASTS = Step(
    "inline-float8-casts",
    "lower casts from and to 8-bit floats; IREE's fail or return other values for NaN",
    inline_float8_casts,
)
