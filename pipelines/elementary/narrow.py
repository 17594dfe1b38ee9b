"""Functions of f32 numbers, computed in f64 with about 33 bits.

Rounded to f32, the results are off by at most 0.51 units in the last place. In f64, no step
overflows or leaves the normal numbers, so few arguments need care. Arguments and results are f64.

Functions with an argument `when` compute the values for rare arguments as `when` says: `branch`
where vector code can have branches, else `choose`.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from pipelines.elementary.functions import exp, log_of_normal
from pipelines.elementary.quarter_turns import reduced_narrow
from pipelines.ir.expressions import (
    Scalar,
    choose,
    constant,
    fused_polynomial,
    multiply_add,
    select,
    with_sign_of,
)

When = Callable[..., list[Scalar]]

# Minimax fits of this project's own, in t = x², the highest power's first: sinh(x) / x for x up to
# 1/2, arc tangent of x / x for x up to 1, and arc sine of x / x for x up to 1/2.
_SINH = (
    *(1.9979149605893487e-04, 8.333118425837303e-03, 1.666666773610351e-01, 0.999999999917157),
)
_ATAN = (
    *(4.329582430879193e-04, -3.2783007827082125e-03, 1.1646618650861086e-02),
    *(-2.6338631341055168e-02, 4.396727187535972e-02, -6.042635921162903e-02),
    *(7.503962907558441e-02, -9.051620441715272e-02, 1.1105741738602973e-01),
    *(-1.428527143882783e-01, 1.9999980837732367e-01, -3.3333333005328847e-01, 0.999999999990654),
)
_ASIN = (
    *(3.3158792548243374e-02, 1.7149743767273795e-03, 2.076257495732226e-02),
    *(2.183861942278474e-02, 3.0430116888658352e-02, 4.464043821507466e-02),
    *(7.500006048581498e-02, 1.6666666608639186e-01, 1.0000000000009148),
)
# The greatest and the least quotient of f32 numbers are 2^277 and 2^-277. Each step of a division
# computes this number of bits: their products with f32 numbers are exact.
_STEP, _STEPS = 28, 10


def log(x: Scalar) -> Scalar:
    """The natural logarithm."""
    return log_of_normal(x)


def log2(x: Scalar) -> Scalar:
    """The binary logarithm."""
    return log_of_normal(x) * math.log2(math.e)


def log10(x: Scalar) -> Scalar:
    """The decimal logarithm."""
    return log_of_normal(x) * math.log10(math.e)


def log1p(x: Scalar) -> Scalar:
    """log(1 + x)."""
    total = x + 1
    # The rounding error of the sum only matters next to 1, where the logarithm's slope is 1.
    value = log_of_normal(total) + (x - (total - 1))
    return select(x.equals(0) | x.equals(math.inf), x, value)


def exp2(x: Scalar) -> Scalar:
    """2^x."""
    return exp(x * math.log(2))


def pow(x: Scalar, y: Scalar) -> Scalar:
    """Returns `x` to the power `y`, with C's rules for signs, zeros and infinities."""
    size = x.size()
    # Infinite exponents are as good as these, but their product with log 1 would be NaN.
    finite = select(y > 2.0**60, 2.0**60, y)
    finite = select(finite < -(2.0**60), -(2.0**60), finite)
    value = exp(finite * log_of_normal(size))
    whole = y.math("roundeven").equals(y)
    half = y * 0.5
    odd = whole & ~half.math("roundeven").equals(half)
    value = select((x.bits() < 0) & odd, -value, value)
    value = select((x < 0) & (x > -math.inf) & ~whole, math.nan, value)
    return select(y.equals(0) | x.equals(1), 1, value)


def sinh(x: Scalar) -> Scalar:
    """The hyperbolic sine."""
    size = x.size()
    near = size * fused_polynomial(_SINH, x * x)
    power = exp(size)
    return with_sign_of(select(size < 0.5, near, (power - 1 / power) * 0.5), x)


def cosh(x: Scalar) -> Scalar:
    """The hyperbolic cosine."""
    power = exp(x.size())
    return (power + 1 / power) * 0.5


def asinh(x: Scalar) -> Scalar:
    """The inverse of the hyperbolic sine."""
    size = x.size()
    square = size * size
    # Squares of f32 numbers are finite.
    return with_sign_of(log1p(size + square / (1 + (square + 1).math("sqrt"))), x)


def acosh(x: Scalar) -> Scalar:
    """The inverse of the hyperbolic cosine; NaN for numbers below 1."""
    above = x - 1
    return log1p(above + (above * (above + 2)).math("sqrt"))


def atanh(x: Scalar) -> Scalar:
    """The inverse of the hyperbolic tangent; NaN for a number beyond -1 or 1."""
    size = x.size()
    return with_sign_of(log1p(2 * size / (1 - size)) * 0.5, x)


def sin(x: Scalar, when: When = choose) -> Scalar:
    """The sine."""
    odd, sign, sine, cosine = reduced_narrow(x, when)
    return (select(odd, cosine, sine).bits() ^ sign).as_bits()


def cos(x: Scalar, when: When = choose) -> Scalar:
    """The cosine."""
    odd, sign, sine, cosine = reduced_narrow(x, when, 1)
    return (select(odd, cosine, sine).bits() ^ sign).as_bits()


def tan(x: Scalar, when: When = choose) -> Scalar:
    """The tangent."""
    odd, _, sine, cosine = reduced_narrow(x, when)
    return select(odd, -cosine, sine) / select(odd, sine, cosine)


def atan(x: Scalar) -> Scalar:
    """The arc tangent."""
    size = x.size()
    steep = size > 1
    angle = _arc_tangent(select(steep, 1 / size, size))
    return with_sign_of(select(steep, math.pi / 2 - angle, angle), x)


def atan2(y: Scalar, x: Scalar) -> Scalar:
    """The angle of (x, y), from -π to π, with C's rules for zeros and infinities."""
    width, height = x.size(), y.size()
    steep = height > width
    least, most = select(steep, width, height), select(steep, height, width)
    # The quotient of two zeros, or of two infinities, would be NaN.
    ratio = select(least.equals(0), 0, select(least.equals(most), 1, least / most))
    angle = _arc_tangent(ratio)
    angle = select(steep, math.pi / 2 - angle, angle)
    angle = select(x.bits() < 0, math.pi - angle, angle)
    return select(x.is_nan() | y.is_nan(), x + y, with_sign_of(angle, y))


def _arc_tangent(x: Scalar) -> Scalar:
    return x * fused_polynomial(_ATAN, x * x)


def asin(x: Scalar) -> Scalar:
    """The arc sine; NaN for a number beyond -1 or 1."""
    far, angle = _arc_sine(x)
    return with_sign_of(select(far, math.pi / 2 - 2 * angle, angle), x)


def acos(x: Scalar) -> Scalar:
    """The arc cosine; NaN for a number beyond -1 or 1."""
    far, angle = _arc_sine(x)
    left = x < 0
    signed = select(left, -angle, angle)
    return select(far, select(left, math.pi, constant(0.0)) + 2 * signed, math.pi / 2 - signed)


def _arc_sine(x: Scalar) -> tuple[Scalar, Scalar]:
    """Returns whether |x| > 1/2; and the arc sine of |x|, or else of √((1 - |x|) / 2)."""
    size = x.size()
    far = size > 0.5
    square = select(far, (1 - size) * 0.5, size * size)
    root = select(far, square.math("sqrt"), size)
    return far, root * fused_polynomial(_ASIN, square)


def fmod(x: Scalar, y: Scalar, when: When = choose) -> Scalar:
    """Returns the exact remainder of `x / y`, rounded toward zero, with the sign of `x`."""
    dividend, divisor = x.size(), y.size()
    inverse = 1 / divisor

    def step(rest: Scalar, number: int) -> Scalar:
        # Adding this number rounds the quotient to a multiple of 2^(_STEP number).
        rounding = 1.5 * 2.0 ** (52 + _STEP * number)
        quotient = multiply_add(rest, inverse, rounding) - rounding
        return multiply_add(-quotient, divisor, rest)

    def large() -> list[Scalar]:
        rest = dividend
        for number in reversed(range(1, _STEPS)):
            rest = step(rest, number)
        return [rest]

    (rest,) = when(dividend > divisor * 2.0**_STEP, large, [dividend])
    rest = step(rest, 0)
    # The quotient has been rounded to nearest.
    rest = select(rest < 0, rest + divisor, rest)
    return with_sign_of(select(dividend < divisor, dividend, rest), x)
