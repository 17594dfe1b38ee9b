"""Prints operations that compute numbers from numbers, as C expressions."""

import math

import numpy as np
from torch_mlir import ir

from c_printer.types import TYPES, width

_INTEGERS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_INTEGER_PREDICATES = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
# In the order of arith's enumeration. NaN makes each C comparison but `!=` false.
_FLOAT_PREDICATES = (
    *("false", "{0} == {1}", "{0} > {1}", "{0} >= {1}", "{0} < {1}", "{0} <= {1}"),
    *("{0} < {1} || {0} > {1}", "{0} == {0} && {1} == {1}", "!({0} < {1} || {0} > {1})"),
    *("!({0} <= {1})", "!({0} < {1})", "!({0} >= {1})", "!({0} > {1})", "{0} != {1}"),
    *("{0} != {0} || {1} != {1}", "true"),
)
# Functions of math.h. The names of the variants for float end in f.
_MATH = {
    **{name: name for name in ("acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt")},
    **{name: name for name in ("ceil", "copysign", "cos", "cosh", "erf", "erfc", "exp", "exp2")},
    **{name: name for name in ("expm1", "floor", "fma", "log", "log10", "log1p", "log2", "round")},
    **{name: name for name in ("sin", "sinh", "sqrt", "tan", "tanh", "trunc")},
    **{"absf": "fabs", "powf": "pow", "roundeven": "rint"},
}


def unsigned(kind, value):
    """Returns an integer as the unsigned type of the same width."""
    return value if width(kind) == 1 else f"(uint{width(kind)}_t){value}"


def literal(kind, value):
    """Returns a number as a C literal of exactly its value.

    Args:
        kind: its MLIR type.
        value: a Python or NumPy number.
    """
    text = str(kind)
    if text == "i1":
        return "true" if value else "false"
    if text in ("f32", "f64"):
        suffix = "f" if text == "f32" else ""
        if math.isnan(value):
            return "-NAN" if math.copysign(1, value) < 0 else "NAN"
        if math.isinf(value):
            return "-INFINITY" if value < 0 else "INFINITY"
        digits = str(np.float32(value)) if suffix else repr(float(value))
        return digits + suffix
    # The lowest integer has no literal.
    if value == -(2**63):
        return "INT64_MIN"
    if value == -(2**31) and text == "i32":
        return "INT32_MIN"
    return f"INT64_C({value})" if not -(2**31) <= value < 2**31 else str(value)


def _wrapping(sign):
    """Prints integer arithmetic on unsigned types, because signed overflow is undefined in C."""

    def expression(operation, a, b):
        kind = operation.results[0].type
        if all(_is_of_loops(each) for each in operation.operands):
            return f"{a} {sign} {b}"
        if width(kind) == 1:
            return f"({a} {sign} {b}) & 1"
        wide = f"uint{max(32, width(kind))}_t"
        return f"({TYPES[str(kind)]})(({wide}){a} {sign} ({wide}){b})"

    return expression


def _is_of_loops(value):
    """Returns whether an index is computed from loop indices and constants only: it is small."""
    if not isinstance(value.type, ir.IndexType):
        return False
    if isinstance(value.owner, ir.Block):
        return value.owner.owner.operation.name == "scf.for" and value.arg_number == 0
    operation = value.owner.operation
    return operation.name == "arith.constant" or (
        operation.name in ("arith.addi", "arith.subi", "arith.muli")
        and all(_is_of_loops(each) for each in operation.operands)
    )


def _cast(text):
    """Formats `text` with the operands, and casts the whole to the type of the result."""

    def expression(operation, *operands):
        kind = TYPES[str(operation.results[0].type)]
        return f"({kind}){text.format(*operands)}"

    return expression


def _unsigned_cast(text):
    """As `_cast`, with the operands as unsigned integers."""

    def expression(operation, *operands):
        pairs = zip(operation.operands, operands, strict=True)
        return _cast(text)(operation, *(f"({unsigned(value.type, c)})" for value, c in pairs))

    return expression


def _extend(operation, a):
    """Sign extension. As a signed number, the boolean true is -1."""
    kind = operation.operands[0].type
    return _cast("-{0}" if width(kind) == 1 else "{0}")(operation, a)


def _truncate(operation, a):
    return f"{a} & 1" if width(operation.results[0].type) == 1 else _cast("{0}")(operation, a)


def _compare_integers(operation, a, b):
    name = _INTEGER_PREDICATES[ir.IntegerAttr(operation.attributes["predicate"]).value]
    kind = operation.operands[0].type
    if name in _INTEGERS:
        return f"{a} {_INTEGERS[name]} {b}"
    sign = _INTEGERS[name[1:]]
    if name[0] == "u":
        return f"{unsigned(kind, a)} {sign} {unsigned(kind, b)}"
    return f"-{a} {sign} -{b}" if width(kind) == 1 else f"{a} {sign} {b}"


def _compare_floats(operation, a, b):
    predicate = ir.IntegerAttr(operation.attributes["predicate"]).value
    return _FLOAT_PREDICATES[predicate].format(a, b)


def _shift(sign, is_signed):
    """Prints a shift. A shift by the width or more results in 0, or in the sign."""

    def expression(operation, a, b):
        kind = operation.results[0].type
        bits, amount = width(kind), unsigned(operation.results[0].type, b)
        if is_signed:
            return f"({TYPES[str(kind)]})({a} >> ({amount} < {bits} ? {b} : {bits - 1}))"
        wide = f"uint{max(32, bits)}_t"
        value = f"({wide}){unsigned(kind, a)} {sign} {b}"
        return f"({TYPES[str(kind)]})({amount} < {bits} ? {value} : 0)"

    return expression


def _extreme(sign, is_signed):
    def expression(operation, a, b):
        kind = operation.results[0].type
        if is_signed:
            minus = "-" if width(kind) == 1 else ""
            return f"{minus}{a} {sign} {minus}{b} ? {a} : {b}"
        return f"{unsigned(kind, a)} {sign} {unsigned(kind, b)} ? {a} : {b}"

    return expression


def _helper(name):
    """A call of a helper with the result's float type in its name."""

    def expression(operation, *operands):
        return f"{name}_{operation.results[0].type}({', '.join(operands)})"

    return expression


def _function(name):
    """A call of a function of math.h."""

    def expression(operation, *operands):
        suffix = "f" if str(operation.operands[0].type) == "f32" else ""
        return f"{name}{suffix}({', '.join(operands)})"

    return expression


def _to_signed(operation, a):
    """Converts to 8 and 16 bits by way of 32 bits and truncation, as eager does."""
    bits = width(operation.results[0].type)
    return _cast(f"f64_to_i{max(32, bits)}({{0}})")(operation, a)


def _bitcast(operation, a):
    source, result = operation.operands[0].type, operation.results[0].type
    if isinstance(source, ir.FloatType):
        return f"bits_of_{source}({a})"
    return f"{result}_of_bits({a})" if isinstance(result, ir.FloatType) else a


def _bits(name):
    """A call of a helper that takes an unsigned integer and its width."""

    def expression(operation, a):
        kind = operation.operands[0].type
        return _cast(f"{name}({unsigned(kind, a)}, {width(kind)})")(operation, a)

    return expression


def _count_ones(operation, a):
    return _cast(f"count_ones({unsigned(operation.operands[0].type, a)})")(operation, a)


def _reciprocal_root(operation, a):
    return f"1 / {_function('sqrt')(operation, a)}"


# For each operation, a function that takes it and its operands in C, and returns the result in C.
EXPRESSIONS = {
    "arith.addi": _wrapping("+"),
    "arith.subi": _wrapping("-"),
    "arith.muli": _wrapping("*"),
    "arith.divsi": _cast("divide({0}, {1})"),
    "arith.remsi": _cast("remainder_of({0}, {1})"),
    "arith.floordivsi": _cast("floor_divide({0}, {1})"),
    "arith.ceildivsi": _cast("ceil_divide({0}, {1})"),
    "arith.divui": _unsigned_cast("({0} / {1})"),
    "arith.remui": _unsigned_cast("({0} % {1})"),
    "arith.ceildivui": _unsigned_cast("({0} / {1} + ({0} % {1} != 0))"),
    "arith.andi": _cast("({0} & {1})"),
    "arith.ori": _cast("({0} | {1})"),
    "arith.xori": _cast("({0} ^ {1})"),
    "arith.shli": _shift("<<", False),
    "arith.shrui": _shift(">>", False),
    "arith.shrsi": _shift(">>", True),
    "arith.maxsi": _extreme(">", True),
    "arith.minsi": _extreme("<", True),
    "arith.maxui": _extreme(">", False),
    "arith.minui": _extreme("<", False),
    "arith.cmpi": _compare_integers,
    "arith.cmpf": _compare_floats,
    "arith.select": lambda operation, c, a, b: f"{c} ? {a} : {b}",
    "arith.addf": lambda operation, a, b: f"{a} + {b}",
    "arith.subf": lambda operation, a, b: f"{a} - {b}",
    "arith.mulf": lambda operation, a, b: f"{a} * {b}",
    "arith.divf": lambda operation, a, b: f"{a} / {b}",
    "arith.negf": lambda operation, a: f"-({a})",
    "arith.remf": _function("fmod"),
    "arith.maximumf": _helper("maximum"),
    "arith.minimumf": _helper("minimum"),
    "arith.maxnumf": _function("fmax"),
    "arith.minnumf": _function("fmin"),
    "arith.extf": _cast("{0}"),
    "arith.truncf": _cast("{0}"),
    "arith.extsi": _extend,
    "arith.extui": _unsigned_cast("{0}"),
    "arith.trunci": _truncate,
    "arith.index_cast": _extend,
    "arith.index_castui": _unsigned_cast("{0}"),
    "arith.sitofp": _extend,
    "arith.uitofp": _unsigned_cast("{0}"),
    "arith.fptosi": _to_signed,
    "arith.fptoui": _cast("f64_to_u64({0})"),
    "arith.bitcast": _bitcast,
    "math.absi": lambda operation, a: _cast(f"({a} < 0 ? 0 - (uint64_t){a} : (uint64_t){a})")(
        operation, a
    ),
    "math.ctlz": _bits("leading_zeros"),
    "math.cttz": _bits("trailing_zeros"),
    "math.ctpop": _count_ones,
    "math.ipowi": _cast("power({0}, {1})"),
    "math.fpowi": lambda operation, a, b: _function("pow")(operation, a, b),
    "math.isnan": lambda operation, a: f"isnan({a}) != 0",
    "math.isinf": lambda operation, a: f"isinf({a}) != 0",
    "math.isfinite": lambda operation, a: f"isfinite({a}) != 0",
    "math.isnormal": lambda operation, a: f"isnormal({a}) != 0",
    "math.rsqrt": _reciprocal_root,
    **{f"math.{name}": _function(function) for name, function in _MATH.items()},
}
# Operations whose second operand must not be 0.
DIVISIONS = (
    *("arith.divsi", "arith.remsi", "arith.floordivsi", "arith.ceildivsi"),
    *("arith.divui", "arith.remui", "arith.ceildivui"),
)
