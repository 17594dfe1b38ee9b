"""Exponential, logarithm, the error function, hyperbolic functions, powers and remainders."""

from __future__ import annotations

import math

from pipelines.ir.expressions import (
    Scalar,
    constant,
    fused_polynomial,
    integer,
    multiply_add,
    polynomial,
    product_rest,
    repeat,
    select,
    with_sign_of,
)

# log(2) in two parts. The first has 32 bits: its products with exponents are exact.
_LOG2_HIGH, _LOG2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
# Minimax fits of this project's own: (e^r - 1 - r) / r² for |r| <= log(2)/2, and, for z = s² and s
# up to 0.172, (log((1 + s) / (1 - s)) - 2 s) / (s z).
_EXP = (
    *(2.5068170543049758e-08, 2.762004679045543e-07, 2.7557355501514204e-06),
    *(2.4801521396002008e-05, 1.9841269784672599e-04, 1.3888888917138638e-03),
    *(8.333333333356197e-03, 4.166666666662431e-02, 1.6666666666666644e-01, 0.5000000000000001),
)
_LOG = (
    *(1.4617011911315958e-01, 1.533167297859089e-01, 1.818289070117447e-01),
    *(2.222221111126872e-01, 2.8571428626134115e-01, 3.9999999999899116e-01, 0.666666666666667),
)
# Adding this number rounds to an integer n. The low bits of the sum are n + 1023.
_ROUND = 1.5 * 2.0**52 + 1023


# W. J. Cody, Rational Chebyshev approximations for the error function, 1969.
# erf(x) / x below 0.5, in x²: numerator and denominator.
_ERF = (
    (
        *(1.85777706184603153e-1, 3.16112374387056560, 1.13864154151050156e2),
        *(3.77485237685302021e2, 3.20937758913846947e3),
    ),
    (
        *(1.0, 2.36012909523441209e1, 2.44024637934444173e2, 1.28261652607737228e3),
        2.84423683343917062e3,
    ),
)
# erfc(x) · exp(x²) from 0.5 to 4, in x: numerator and denominator.
_ERFC = (
    (
        *(2.15311535474403846e-8, 5.64188496988670089e-1, 8.88314979438837594, 66.1191906371416295),
        *(298.635138197400131, 881.952221241769090, 1712.04761263407058, 2051.07837782607147),
        1230.33935479799725,
    ),
    (
        *(1.0, 15.7449261107098347, 117.693950891312499, 537.181101862009858, 1621.38957456669019),
        *(3290.79923573345963, 4362.61909014324716, 3439.36767414372164, 1230.33935480374942),
    ),
)


def exp(x: Scalar) -> Scalar:
    """e^x: 2^n e^r, where x = n log 2 + r."""
    # Beyond these bounds the result is 0 or infinite. Comparisons with NaN are false, and keep it.
    within = select(x < -800, -800, x)
    within = select(within > 800, 800, within)
    shifted = multiply_add(within, math.log2(math.e), _ROUND)
    whole = shifted - _ROUND
    rest = multiply_add(whole, -_LOG2_LOW, multiply_add(whole, -_LOG2_HIGH, within))
    power = multiply_add(rest * rest, fused_polynomial(_EXP, rest), rest) + 1
    # 2^n in two factors, because 2^n itself may not be a normal number.
    negative = x < 0
    bits = (shifted.bits() << 52) - select(negative, integer(-512 << 52), integer(512 << 52))
    return power * bits.as_bits() * select(negative, 2.0**-512, constant(2.0**512))


def log(x: Scalar) -> Scalar:
    """The natural logarithm."""
    tiny = x < 2.0**-1022
    value = log_of_normal(select(tiny, x * 2.0**54, x))
    return select(tiny, value - 54 * math.log(2), value)


def log_of_normal(x: Scalar) -> Scalar:
    """Returns the natural logarithm of a number that is not subnormal."""
    part, exponent = _parts(x)
    # log(1 + f) = f - f²/2 + s (f²/2 + r) with s = f / (2 + f), and r = s² p(s²).
    above = part - 1
    ratio = above / (above + 2)
    square = ratio * ratio
    half = above * above * 0.5
    tail = ratio * multiply_add(square, fused_polynomial(_LOG, square), half)
    low = multiply_add(exponent, _LOG2_LOW, tail)
    value = multiply_add(exponent, _LOG2_HIGH, above - (half - low))
    value = select(x < math.inf, value, x)
    return select(x > 0, value, select(x.equals(0), -math.inf, constant(math.nan)))


def erf(x: Scalar) -> Scalar:
    """The error function."""
    size = x.size()
    square = x * x
    near = x * (polynomial(_ERF[0], square) / polynomial(_ERF[1], square))
    clamped = select(size < 4, size, 4)
    complement = polynomial(_ERFC[0], clamped) / polynomial(_ERFC[1], clamped)
    far = 1 - (-clamped * clamped).math("exp") * complement
    # erfc is below 2e-8 from 4 on. From 6 on, erf rounds to 1.
    value = select(size < 0.5, near.size(), far)
    value = select(size < 4, value, 1 - _far_complement(size))
    value = select(size < 6, value, 1)
    return with_sign_of(select(x.is_nan(), size, value), x)


def _far_complement(x: Scalar) -> Scalar:
    """Returns erfc between 4 and 6 from its continued fraction; 9 digits are enough for erf."""
    fraction = x
    for index in range(24, 0, -1):
        fraction = x + (index / 2) / fraction
    return (-x * x).math("exp") * (1 / math.sqrt(math.pi)) / fraction


def expm1(x: Scalar) -> Scalar:
    """e^x - 1."""
    # Use the series where the difference cancels.
    near = x * polynomial([1 / math.factorial(power) for power in range(17, 0, -1)], x)
    value = select(x.size() < 0.5, near, x.math("exp") - 1)
    return select(x.equals(0), x, value)


def log1p(x: Scalar) -> Scalar:
    """log(1 + x)."""
    total = 1 + x
    # Corrects for the rounding of the sum, to first order.
    value = total.math("log") + (x - (total - 1)) / total
    value = select(total.equals(0), -math.inf, value)
    return select(x.equals(0) | x.equals(math.inf), x, value)


def sinh(x: Scalar) -> Scalar:
    """The hyperbolic sine."""
    grown = expm1(x.size())
    half = (x.size() * 0.5).math("exp")
    value = select(x.size() < 20, (grown + grown / (grown + 1)) * 0.5, half * 0.5 * half)
    return with_sign_of(value, x)


def asinh(x: Scalar) -> Scalar:
    """The inverse of the hyperbolic sine."""
    size = x.size()
    square = size * size
    near = log1p(size + square / (1 + (square + 1).math("sqrt")))
    far = size.math("log") + math.log(2)
    return with_sign_of(select(size < 2.0**28, near, far), x)


def acosh(x: Scalar) -> Scalar:
    """The inverse of the hyperbolic cosine."""
    above = x - 1
    # The first square root is NaN for all operands below 1.
    near = log1p(above + above.math("sqrt") * (above + 2).math("sqrt"))
    return select(x < 2.0**28, near, x.math("log") + math.log(2))


def atanh(x: Scalar) -> Scalar:
    """The inverse of the hyperbolic tangent."""
    size = x.size()
    value = log1p(2 * size / (1 - size)) * 0.5
    return with_sign_of(value, x)


def tanh(x: Scalar) -> Scalar:
    """The hyperbolic tangent."""
    size = x.size()
    power = expm1(select(size < 22, size, 22) * 2)
    value = select(x.is_nan(), x.size(), power / (power + 2))
    return with_sign_of(value, x)


# The bits of 1, and of the square root of 1/2.
_ONE, _SQUARE_ROOT = 0x3FF0000000000000, 0x3FE6A09E667F3BCD


def pow(x: Scalar, y: Scalar) -> Scalar:
    """Returns `x` to the power `y`, with C's rules for signs, zeros and infinities."""
    size = x.size()
    high, low = _logarithm(size)
    product = y * high
    rest = product_rest(y, high, product) + y * low
    value = product.math("exp")
    # Multiply by (1 + rest), but not if the value is 0 or infinite: the rest may then be infinite
    # or NaN.
    corrected = (product.size() < math.inf) & (value.size() < math.inf) & (value > 0)
    return _power(x, y, select(corrected, value + value * rest, value))


def _power(x: Scalar, y: Scalar, finite: Scalar) -> Scalar:
    """Returns `x` to the power `y`. `finite` is its absolute value if `x` is finite and not 0."""
    size = x.size()
    # For zeros and infinities, use their logarithm.
    edge = size.equals(0) | size.equals(math.inf)
    ends = (y * select(size.equals(0), -math.inf, math.inf)).math("exp")
    value = select(edge, ends, finite)
    unending = y.size().equals(math.inf)
    grows = (size > 1) ^ (y < 0)
    value = select(unending, select(size.equals(1), 1, select(grows, math.inf, 0)), value)
    whole = y.math("floor").equals(y)
    half = y * 0.5
    odd = whole & ~half.math("floor").equals(half)
    value = select((x.bits() < 0) & odd, -value, value)
    value = select((x < 0) & (size < math.inf) & ~whole, math.nan, value)
    value = select(x.is_nan() | y.is_nan(), x + y, value)
    return select(y.equals(0) | x.equals(1), 1, value)


def _parts(x: Scalar) -> tuple[Scalar, Scalar]:
    """Returns m, between the square roots of 1/2 and 2, and n, where x = m * 2^n is normal."""
    # From the square root of 2 on, the sum carries into the exponent.
    bits = x.bits() + (_ONE - _SQUARE_ROOT)
    part = ((bits & (2**52 - 1)) + _SQUARE_ROOT).as_bits()
    # The bits of 2^52 + exponent.
    exponent = ((bits >> 52) | (1075 << 52)).as_bits() - (2.0**52 + 1023)
    return part, exponent


def _logarithm(x: Scalar) -> tuple[Scalar, Scalar]:
    """Returns the logarithm of a positive number as a sum of two numbers, to 60 bits."""
    tiny = x < 2.0**-1022
    part, exponent = _parts(select(tiny, x * 2.0**54, x))
    exponent = select(tiny, exponent - 54, exponent)
    # log m = 2 (s + s³/3 + …) with s = (m - 1) / (m + 1). The rounding error of s is added, too.
    above, below = part - 1, part + 1
    ratio = above / below
    below_rest = part - (below - 1)
    product = ratio * below
    missing = (above - product) - product_rest(ratio, below, product) - ratio * below_rest
    ratio_rest = missing / below
    square = ratio * ratio
    tail = ratio * square * polynomial([1 / power for power in range(25, 1, -2)], square)
    whole = exponent * _LOG2_HIGH
    high = whole + 2 * ratio
    low = (whole - high) + 2 * ratio
    # Either of the two summands may be the larger one.
    swapped = (2 * ratio - high) + whole
    low = select(whole.size() < (2 * ratio).size(), swapped, low)
    low = low + 2 * (tail + ratio_rest) + exponent * _LOG2_LOW
    total = high + low
    return total, (high - total) + low


def log2(x: Scalar) -> Scalar:
    """The binary logarithm."""
    return _of_base(x, 1.4426950408889634, 2.0355273740931033e-17)


def log10(x: Scalar) -> Scalar:
    """The decimal logarithm."""
    return _of_base(x, 0.4342944819032518, 1.098319650216765e-17)


def _of_base(x: Scalar, scale: float, scale_rest: float) -> Scalar:
    high, low = _logarithm(x)
    product = high * scale
    factor = x * 0 + scale
    value = product + (product_rest(high, factor, product) + low * scale + high * scale_rest)
    value = select(x.equals(0), -math.inf, select(x.equals(math.inf), x, value))
    return select((x < 0) | x.is_nan(), math.nan, value)


# Bits of the quotient that one step of the division computes.
_STEP = 11


def fmod(x: Scalar, y: Scalar) -> Scalar:
    """Returns the exact remainder of `x / y`, rounded toward zero, with the sign of `x`."""
    dividend, divisor = x.size(), y.size()
    above, exponent = _significand(dividend)
    below, lowest = _significand(divisor)
    # Avoid an integer division by zero; the result is replaced by NaN below.
    below = select(below.equals(0), integer(1), below)
    first = above % below
    left = exponent - lowest

    def more(_rest: Scalar, left: Scalar) -> Scalar:
        return left > 0

    def advance(rest: Scalar, left: Scalar) -> tuple[Scalar, Scalar]:
        step = select(left < _STEP, left, integer(_STEP))
        return (rest << step) % below, left - step

    rest, _ = repeat((first, left), more, advance)
    value = _scaled(rest, lowest)
    value = select(dividend < divisor, dividend, value)
    undefined = divisor.equals(0) | dividend.equals(math.inf) | x.is_nan() | y.is_nan()
    return with_sign_of(select(undefined, math.nan, value), x)


def _significand(x: Scalar) -> tuple[Scalar, Scalar]:
    """Returns the integers m, below 2^53, and e of x = m 2^(e - 1075), for a positive x."""
    bits = x.bits()
    field = bits >> 52
    normal = field > 0
    significand = (bits & (2**52 - 1)) | select(normal, integer(2**52), integer(0))
    return significand, select(normal, field, integer(1))


def _scaled(significand: Scalar, exponent: Scalar) -> Scalar:
    """Returns m 2^(e - 1075), which is exact."""
    # A single power of two may overflow or underflow; two factors do not.
    half = exponent >> 1
    first = ((half + 512) << 52).as_bits()
    second = ((exponent - half + 512) << 52).as_bits()
    # 2^(half - 511) · 2^(exponent - half - 511) · 2^-53.
    return significand.to_float() * 2.0**-53 * first * second
