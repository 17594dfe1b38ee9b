"""The error function."""

from __future__ import annotations

import math

from pipelines.iree.elementary.scalar import Scalar, polynomial, select, with_sign_of

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
