"""The complementary error function."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

# W. J. Cody, Rational Chebyshev approximations for the error function, 1969: numerators and
# denominators from the highest power down, of x² for erf(x)/x up to 0.46, of x for erfc up to 4,
# and of 1/x² from there on.
_NEAR = (
    (
        *(1.85777706184603153e-1, 3.16112374387056560, 1.13864154151050156e2),
        *(3.77485237685302021e2, 3.20937758913846947e3),
    ),
    (
        *(1.0, 2.36012909523441209e1, 2.44024637934444173e2, 1.28261652607737228e3),
        2.84423683343917062e3,
    ),
)
_MIDDLE = (
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
_TAIL = (
    (
        *(1.63153871373020978e-2, 3.05326634961232344e-1, 3.60344899949804439e-1),
        *(1.25781726111229246e-1, 1.60837851487422766e-2, 6.58749161529837803e-4),
    ),
    (
        *(1.0, 2.56852019228982242, 1.87295284992346725, 5.27905102951428412e-1),
        *(6.05183413124413191e-2, 2.33520497626869185e-3),
    ),
)
# erfc(28) is 0 in f64.
_END = 28.0


def erfc(x: torch.Tensor) -> torch.Tensor:
    """1 - erf(x) without its cancellation: to 1e-15 of the result, computed in f64.

    Without erf, of which IREE has no form in f64.
    """
    dtype = x.dtype if x.is_floating_point() else torch.get_default_dtype()
    x = x.to(torch.float64)
    y = x.abs().clamp(min=0.46, max=_END)
    square = 1 / (y * y)
    tail = (1 / math.sqrt(math.pi) - square * _quotient(_TAIL, square)) / y
    # The square of a number of few bits is exact, and the rest of y² is small.
    few = torch.floor(y * 16) / 16
    scale = torch.exp(-few * few) * torch.exp((few - y) * (few + y))
    right = torch.where(y < 4, _quotient(_MIDDLE, y), tail) * scale
    far = torch.where(x < 0, 2 - right, right)
    # NaN is not below, and the clamp keeps it.
    return torch.where(x.abs() < 0.46, 1 - x * _quotient(_NEAR, x * x), far).to(dtype)


def _quotient(coefficients: Sequence[Sequence[float]], x: torch.Tensor) -> torch.Tensor:
    above, below = (_polynomial(each, x) for each in coefficients)
    return above / below


def _polynomial(coefficients: Sequence[float], x: torch.Tensor) -> torch.Tensor:
    first, *rest = coefficients
    value = torch.full_like(x, first)
    for coefficient in rest:
        value = value * x + coefficient
    return value
