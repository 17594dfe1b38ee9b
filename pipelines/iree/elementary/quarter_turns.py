"""Reduces angles to a number of quarter turns and a remainder."""

from __future__ import annotations

import functools
import itertools
import math

from pipelines.ir.expressions import (
    Scalar,
    branch,
    constant,
    integer,
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
# The number of 24-bit parts of 1/(2π) that an f32 number is multiplied by. From each edge on, one
# more of the first parts yields only whole turns, and is skipped.
_NARROW_PARTS = 5
_NARROW_EDGES = tuple(2.0 ** (24 * part + 23) for part in range(1, 5))


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


def reduced_narrow(x: Scalar) -> tuple[Scalar, Scalar, Scalar, Scalar]:
    """Reduces an f32 number like `reduced`, but without branches, which vector code cannot have.

    Returns:
        Whether the number of quarter turns is odd, whether half of it, rounded down, is odd, and
        the sine and cosine of the remainder.
    """
    size = x.size()
    turns = (x * (2 / math.pi)).math("roundeven")
    rest = x - turns * _PARTS[0] - turns * _PARTS[1]
    # A product of 24 bits with 24 bits of 1/(2π) is exact. Whole turns are dropped.
    turn = constant(0.0)
    for part in range(_NARROW_PARTS):
        factor = constant(_narrow_part(part))
        for number, edge in enumerate(_NARROW_EDGES, 1):
            factor = select(size >= edge, _narrow_part(part + number), factor)
        product = x * factor
        turn = turn + (product - product.math("roundeven"))
    large = size >= _MEDIUM
    quarters = (turn * 4).math("roundeven")
    rest = select(large, (turn - quarters * 0.25) * (2 * math.pi), rest)
    turns = select(large, quarters, turns)
    half = (turns * 0.5).math("floor")
    odd = (turns - 2 * half) > 0.5
    negative = (half - 2 * (half * 0.5).math("floor")) > 0.5
    return (odd, negative, *_sine_and_cosine(rest, 0.0))


def _narrow_part(number: int) -> float:
    """Returns bits 24 n to 24 (n + 1) of 1/(2π)."""
    bits = 24 * (number + 1)
    words = _words()[1:]
    whole = sum(word << 64 * (len(words) - 1 - index) for index, word in enumerate(words))
    return float(whole >> (64 * len(words) - bits) & (2**24 - 1)) * 2.0**-bits


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
