"""The operations of the bodies of linalg operations, as functions of NumPy arrays.

Each function takes arrays of the operands' dtypes, which broadcast, and returns one of the result's
dtype. bfloat16 values are float32 arrays that are rounded after each operation.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np


class Undefined(Exception):
    """The operation has no defined result for these operands, such as a division by zero."""


def _vectorized(function: Callable[..., float]) -> Callable[..., np.ndarray]:
    """Converts a function of Python floats to one of float arrays, computed in float64."""

    def guarded(*values: float) -> float:
        try:
            return function(*values)
        except OverflowError:
            return math.inf
        except ValueError:
            return math.nan

    vectorized = np.vectorize(guarded, otypes=[np.float64])

    def apply(*operands: np.ndarray) -> np.ndarray:
        wide = [operand.astype(np.float64) for operand in operands]
        return vectorized(*wide).astype(operands[0].dtype)

    return apply


def _unsigned(operand: np.ndarray) -> np.ndarray:
    return operand if operand.dtype == bool else operand.view(f"u{operand.dtype.itemsize}")


def _as_unsigned(function: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    def apply(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return function(_unsigned(a), _unsigned(b)).view(a.dtype)

    return apply


def _divisors(b: np.ndarray) -> None:
    if not b.all():
        raise Undefined("a division by zero")


def _quotient(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Returns the quotient rounded toward zero."""
    _divisors(b)
    floor = a // b
    return floor + ((a % b != 0) & ((a < 0) != (b < 0)))


def _remainder(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    _divisors(b)
    return np.fmod(a, b)


def _floor_quotient(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    _divisors(b)
    return a // b


def _ceil_quotient(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    _divisors(b)
    return -((-a) // b)


def _unsigned_quotient(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    _divisors(b)
    return a // b


def _shift(function: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    def apply(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        if ((b < 0) | (b >= 8 * a.dtype.itemsize)).any():
            raise Undefined("a shift by more bits than there are")
        return function(a, b)

    return apply


def _shift_unsigned(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return (_unsigned(a) >> _unsigned(b)).view(a.dtype)


def _integer_power(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.power(a.astype(np.float64), b).astype(a.dtype)


BINARY: dict[str, Callable[..., np.ndarray]] = {
    "arith.addf": np.add,
    "arith.subf": np.subtract,
    "arith.mulf": np.multiply,
    "arith.divf": np.divide,
    "arith.remf": np.fmod,
    "arith.maximumf": np.maximum,
    "arith.minimumf": np.minimum,
    "arith.maxnumf": np.fmax,
    "arith.minnumf": np.fmin,
    "arith.addi": np.add,
    "arith.subi": np.subtract,
    "arith.muli": np.multiply,
    "arith.divsi": _quotient,
    "arith.divui": _as_unsigned(_unsigned_quotient),
    "arith.remsi": _remainder,
    "arith.remui": _as_unsigned(_remainder),
    "arith.floordivsi": _floor_quotient,
    "arith.ceildivsi": _ceil_quotient,
    "arith.andi": np.bitwise_and,
    "arith.ori": np.bitwise_or,
    "arith.xori": np.bitwise_xor,
    "arith.maxsi": np.maximum,
    "arith.minsi": np.minimum,
    "arith.maxui": _as_unsigned(np.maximum),
    "arith.minui": _as_unsigned(np.minimum),
    "arith.shli": _shift(np.left_shift),
    "arith.shrsi": _shift(np.right_shift),
    "arith.shrui": _shift(_shift_unsigned),
    "math.powf": np.power,
    "math.fpowi": _integer_power,
    "math.atan2": np.arctan2,
    "math.copysign": np.copysign,
    "complex.add": np.add,
    "complex.sub": np.subtract,
    "complex.mul": np.multiply,
    "complex.div": np.divide,
}
# Arithmetic on i1 is modulo 2, and its signed values are 0 and -1.
ON_BITS: dict[str, Callable[..., np.ndarray]] = {
    "arith.addi": np.logical_xor,
    "arith.subi": np.logical_xor,
    "arith.muli": np.logical_and,
    "arith.maxui": np.logical_or,
    "arith.minui": np.logical_and,
    "arith.maxsi": np.logical_and,
    "arith.minsi": np.logical_or,
}

UNARY: dict[str, Callable[..., np.ndarray]] = {
    "arith.negf": np.negative,
    "math.absf": np.abs,
    "math.absi": np.abs,
    "math.acos": np.arccos,
    "math.acosh": np.arccosh,
    "math.asin": np.arcsin,
    "math.asinh": np.arcsinh,
    "math.atan": np.arctan,
    "math.atanh": np.arctanh,
    "math.cbrt": np.cbrt,
    "math.ceil": np.ceil,
    "math.cos": np.cos,
    "math.cosh": np.cosh,
    "math.erf": _vectorized(math.erf),
    "math.erfc": _vectorized(math.erfc),
    "math.exp": np.exp,
    "math.exp2": np.exp2,
    "math.expm1": np.expm1,
    "math.floor": np.floor,
    "math.isfinite": np.isfinite,
    "math.isinf": np.isinf,
    "math.isnan": np.isnan,
    "math.log": np.log,
    "math.log10": np.log10,
    "math.log1p": np.log1p,
    "math.log2": np.log2,
    "math.roundeven": np.rint,
    "math.rsqrt": lambda a: (1 / np.sqrt(a.astype(np.float64))).astype(a.dtype),
    "math.sin": np.sin,
    "math.sinh": np.sinh,
    "math.sqrt": np.sqrt,
    "math.tan": np.tan,
    "math.tanh": np.tanh,
    "math.trunc": np.trunc,
    # Halves are rounded away from zero.
    "math.round": lambda a: np.copysign(np.floor(np.abs(a) + a.dtype.type(0.5)), a),
    "complex.re": np.real,
    "complex.im": np.imag,
    "complex.neg": np.negative,
    "complex.conj": np.conj,
    "complex.abs": np.abs,
    "complex.exp": np.exp,
}

# Predicates by their numbers in the attribute.
COMPARE_INTEGERS: tuple[Callable[..., np.ndarray], ...] = (
    *(np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal),
    *(
        (lambda a, b, compare=compare: compare(_unsigned(a), _unsigned(b)))
        for compare in (np.less, np.less_equal, np.greater, np.greater_equal)
    ),
)
_ORDERED = (np.equal, np.greater, np.greater_equal, np.less, np.less_equal)


def compare_floats(predicate: int, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Returns `arith.cmpf`, whose predicates are numbered: false, oeq … one, ord, ueq … true."""
    unordered = np.isnan(a) | np.isnan(b)
    match predicate:
        case 0 | 15:
            return np.full(unordered.shape, predicate == 15)
        case 7:
            return ~unordered
        case 14:
            return unordered
        case 6:
            return (a != b) & ~unordered
        case 13:
            return (a != b) | unordered
        case _ if predicate < 6:
            return _ORDERED[predicate - 1](a, b)
        case _:
            return _ORDERED[predicate - 8](a, b) | unordered


def convert(name: str, operand: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Returns a cast of `arith`.

    Raises:
        Undefined: a float does not fit into the integer.
    """
    match name:
        case "arith.extsi" | "arith.index_cast" if operand.dtype == bool:
            return -operand.astype(dtype)
        case "arith.extui" | "arith.index_castui" | "arith.uitofp":
            return _unsigned(operand).astype(dtype)
        case "arith.sitofp" if operand.dtype == bool:
            return -operand.astype(dtype)
        case "arith.trunci" | "arith.index_cast" if dtype.kind == "b":
            return (operand & 1).astype(bool)
        case "arith.fptosi" | "arith.fptoui":
            return _to_integer(operand, dtype, unsigned=name == "arith.fptoui")
        case "arith.bitcast":
            return operand.view(dtype)
        case _:
            return operand.astype(dtype)


def _to_integer(operand: np.ndarray, dtype: np.dtype, *, unsigned: bool) -> np.ndarray:
    target = np.dtype(f"u{dtype.itemsize}") if unsigned and dtype.kind != "b" else dtype
    low, high = (0, 1) if dtype.kind == "b" else (np.iinfo(target).min, np.iinfo(target).max)
    whole = np.trunc(operand.astype(np.float64))
    # The largest 64-bit integer is no float64; the next larger one does not fit.
    fits = (whole >= low) & (whole <= high) & ~((whole == 2.0**63) | (whole == 2.0**64))
    if not fits.all():
        raise Undefined("a float that does not fit into the integer")
    return whole.astype(target).view(dtype)
