"""Reduces angles to a number of quarter turns and a remainder."""

from __future__ import annotations

import functools
import itertools
import math
import operator
from collections.abc import Callable

from pipelines.ir.expressions import (
    Scalar,
    branch,
    constant,
    fused_polynomial,
    integer,
    multiply_add,
    polynomial,
    product_rest,
    select,
)

# π/2 in parts of 33 bits, and the rest (fdlibm, e_rem_pio2.c). Products of the parts with integers
# below 2^20 are exact.
_PARTS = (1.57079632673412561417, 6.07710050630396597660e-11, 2.02226624871116645580e-21)
_REST = 8.47842766036889956997e-32
_MEDIUM = 2.0**20 * math.pi / 2
# The number of 64-bit words of 1/(2π), after a first word that is 0.
_WORDS = 20
# Coefficients of x² in fdlibm's k_sin.c and k_cos.c, for -π/4 to π/4, the highest power's first.
_SINE = (
    *(1.58969099521155010221e-10, -2.50507602534068634195e-08, 2.75573137070700676789e-06),
    *(-1.98412698298579493134e-04, 8.33333333332248946124e-03, -1.66666666666666324348e-01),
)
_COSINE = (
    *(-1.13596475577881948265e-11, 2.08757232129817482790e-09, -2.75573143513906633035e-07),
    *(2.48015872894767294178e-05, -1.38888888888741095749e-03, 4.16666666666666019037e-02),
)
# For f32 numbers: π/2 less the first of the parts; and minimax fits of this project's own, in x²
# and for -π/4 to π/4, of sin(x) / x and cos(x).
_NARROW_REST = 6.077100506506192e-11
_NARROW_SINE = (
    *(2.716767538628459e-06, -1.9839136249325215e-04, 8.33332854893409e-03),
    *(-1.6666666628966925e-01, 0.9999999999952164),
)
_NARROW_COSINE = (
    *(-2.716404864218529e-07, 2.4798788347640862e-05, -1.3888879658366965e-03),
    *(4.166666652818203e-02, -0.4999999999923317, 0.9999999999999302),
)
# Adding this number rounds to an integer n. The low bits of the sum are those of n.
_ROUND = 1.5 * 2.0**52
# The bits and the number of the parts of 1/(2π) that an f32 number is multiplied by. From each edge
# on, one more of the first parts yields only whole turns, and is skipped.
_NARROW_BITS, _NARROW_PARTS = 29, 4
_NARROW_EDGES = tuple(2.0 ** (_NARROW_BITS * part + 23) for part in range(1, 4))


def reduced(x: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    """Returns the number of quarter turns nearest to `x`, and sine and cosine of the remainder."""
    turns = (x * (2 / math.pi)).math("roundeven")
    small = x.size() < _MEDIUM
    turns = select(small, turns, 0)
    rest = x
    for part in _PARTS[:-1]:
        rest = rest - turns * part
    # Only the product with _REST is rounded. Its error is below the last place of the rest.
    last = turns * _PARTS[-1]
    high = rest - last
    low = (rest - high) - last - turns * _REST
    state = [turns.to_integer(), high, low]
    quarter, high, low = branch(x.size() >= _MEDIUM, lambda: _reduced_large(x), state)
    return (quarter, *_sine_and_cosine(high, low))


def _sine_and_cosine(high: Scalar, low: Scalar | float) -> tuple[Scalar, Scalar]:
    """Returns sine and cosine of `high + low`, up to π/4, to first order in `low`."""
    square = high * high
    half = 0.5 * square
    sine = high + (square * high * polynomial(_SINE, square) + (1 - half) * low)
    one = 1 - half
    rest = (1 - one) - half + (square * square * polynomial(_COSINE, square) - high * low)
    return sine, one + rest


def reduced_narrow(
    x: Scalar, when: Callable[..., list[Scalar]], more: int = 0
) -> tuple[Scalar, Scalar, Scalar, Scalar]:
    """Reduces an f32 number like `reduced`, to about 33 bits.

    Args:
        when: `branch` or `choose`, which computes the values for large arguments.
        more: is added to the number of quarter turns.

    Returns:
        Whether the number of quarter turns is odd; the sign bit that it has if half of it, rounded
        down, is odd; and the sine and cosine of the remainder.
    """
    shifted = multiply_add(x, 2 / math.pi, _ROUND)
    turns = shifted - _ROUND
    rest = multiply_add(turns, -_NARROW_REST, x - turns * _PARTS[0])
    shifted, rest = when(
        x.size() >= _MEDIUM, lambda: _reduced_large_narrow(x), [shifted.bits(), rest]
    )
    quarter = shifted + more if more else shifted
    square = rest * rest
    sine = rest * fused_polynomial(_NARROW_SINE, square)
    cosine = fused_polynomial(_NARROW_COSINE, square)
    return (quarter & 1).equals(1), (quarter & 2) << 62, sine, cosine


def _reduced_large_narrow(x: Scalar) -> list[Scalar]:
    """Returns the bits of the number of quarter turns plus `_ROUND`, and the remainder."""
    size = x.size()
    # A product of 24 bits with 29 bits of 1/(2π) is exact. Whole turns are dropped.
    parts = []
    for part in range(_NARROW_PARTS):
        factor = constant(_narrow_part(part))
        for number, edge in enumerate(_NARROW_EDGES, 1):
            factor = select(size >= edge, _narrow_part(part + number), factor)
        product = x * factor
        parts.append(product - product.math("roundeven"))
    turn = functools.reduce(operator.add, parts)
    shifted = turn * 4 + _ROUND
    # Without the quarters, the sum is small, and its rounding error too.
    rest = functools.reduce(operator.add, parts, (_ROUND - shifted) * 0.25)
    return [shifted.bits(), rest * (2 * math.pi)]


def _narrow_part(number: int) -> float:
    """Returns part n of 1/(2π)."""
    bits = _NARROW_BITS * (number + 1)
    words = _words()[1:]
    whole = sum(word << 64 * (len(words) - 1 - index) for index, word in enumerate(words))
    return float(whole >> (64 * len(words) - bits) & (2**_NARROW_BITS - 1)) * 2.0**-bits


def _reduced_large(x: Scalar) -> list[Scalar]:
    """Reduces a large number by the method of Payne and Hanek.

    Multiplies the bits of `x` with the bits of 1/(2π) that matter for its exponent.
    """
    bits = x.size().bits()
    significand = (bits & (2**52 - 1)) | 2**52
    # The word and the bit that the exponent selects. For NaN and infinities, any will do.
    place = (bits >> 52) - (1075 - 64)
    first, shift = place >> 6, place & 63
    words = [_word(first, index) for index in range(4)]
    # Shift in two steps: a shift by 64 bits is undefined.
    parts = [
        (above << shift) | ((below >> 1) >> (63 - shift))
        for above, below in itertools.pairwise(words)
    ]
    (_, high_of_low), (low, high), (lowest, _) = (
        significand.times_wide(part) for part in (parts[2], parts[1], parts[0])
    )
    fraction = low + high_of_low
    carry = select(fraction.is_below(low), integer(1), integer(0))
    whole = lowest + high + carry
    quarter = (whole + 2**61) >> 62
    signed = whole - (quarter << 62)
    turn = signed.to_float() * 2.0**-64
    # The bits that do not fit into 53 bits, and the bits after them.
    left = (signed - signed.to_float().to_integer()).to_float() * 2.0**-64
    left = left + fraction.to_float(signed=False) * 2.0**-128
    high = turn * (2 * math.pi)
    # 2π is the sum of the f64 constant and 2.4e-16. Add the rounding error of the product, too.
    low = (
        product_rest(turn, constant(2 * math.pi), high) + turn * _TWO_PI_REST + left * (2 * math.pi)
    )
    total = high + low
    low = (high - total) + low
    negative = x < 0
    infinite = ~(x.size() < math.inf)
    total = select(infinite, math.nan, select(negative, -total, total))
    return [select(negative, -quarter, quarter), total, select(negative, -low, low)]


_TWO_PI_REST = 2.4492935982947064e-16


def _word(first: Scalar, offset: int) -> Scalar:
    """Returns word `first + offset` of 1/(2π), where only `offset` is a constant."""
    words = _words()
    value = integer(words[offset])
    for start in range(1, len(words) - offset):
        value = select(first.equals(start), integer(words[start + offset]), value)
    return value


@functools.cache
def _words() -> tuple[int, ...]:
    bits = 64 * (_WORDS + 2)

    def arc_of_inverse(number: int) -> int:
        total, power, index = 0, (1 << bits) // number, 0
        while power:
            total += (-1) ** index * (power // (2 * index + 1))
            power, index = power // number**2, index + 1
        return total

    pi = 4 * (4 * arc_of_inverse(5) - arc_of_inverse(239))
    inverse = (1 << 2 * bits) // (2 * pi)
    return (0, *(inverse >> (bits - 64 * (index + 1)) & (2**64 - 1) for index in range(_WORDS)))
