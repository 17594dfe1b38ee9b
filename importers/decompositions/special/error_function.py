"""The error function, its complement and inverse, and the inverse normal distribution."""

from __future__ import annotations

import math

import torch

from importers.decompositions.special.evaluation import in_f64, quotient

# From W. J. Cody, Rational Chebyshev approximations for the error function, 1969. Numerators and
# denominators, highest power first: in x² for erf(x)/x up to 0.46, in x for e^x² erfc(x) up to 4,
# and in 1/x² from there on.
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
# Rational functions of ndtri from Moshier's Cephes: up to 3/8 from the middle, and in the tails for
# √(-2 log p) up to 8 and from 8 on. The denominators begin with 1.
_NDTRI_NEAR = (
    (
        -59.96335010141079,
        98.00107541859997,
        -56.67628574690703,
        13.931260938727968,
        -1.2391658386738125,
    ),
    (
        1.0,
        1.9544885833814176,
        4.676279128988815,
        86.36024213908905,
        -225.46268785411937,
        200.26021238006066,
        -82.03722561683334,
        15.90562251262117,
        -1.1833162112133,
    ),
)
_NDTRI_MIDDLE = (
    (
        4.0554489230596245,
        31.525109459989388,
        57.16281922464213,
        44.08050738932008,
        14.684956192885803,
        2.1866330685079025,
        -0.1402560791713545,
        -0.03504246268278482,
        -0.0008574567851546854,
    ),
    (
        1.0,
        15.779988325646675,
        45.39076351288792,
        41.3172038254672,
        15.04253856929075,
        2.504649462083094,
        -0.14218292285478779,
        -0.03808064076915783,
        -0.0009332594808954574,
    ),
)
_NDTRI_FAR = (
    (
        3.2377489177694603,
        6.915228890689842,
        3.9388102529247444,
        1.3330346081580755,
        0.20148538954917908,
        0.012371663481782003,
        0.00030158155350823543,
        2.6580697468673755e-06,
        6.239745391849833e-09,
    ),
    (
        1.0,
        6.02427039364742,
        3.6798356385616087,
        1.3770209948908132,
        0.21623699359449663,
        0.013420400608854318,
        0.00032801446468212774,
        2.8924786474538068e-06,
        6.790194080099813e-09,
    ),
)
_NDTRI_EDGE = math.exp(-2)


def _erf_near(x: torch.Tensor) -> torch.Tensor:
    """Returns erf(x) up to 0.46. IREE has no erf in f64."""
    return x * quotient(_NEAR, x * x)


def _scaled_erfc(x: torch.Tensor) -> torch.Tensor:
    """Returns e^x² erfc(x) from 0.46 on."""
    # The square of 1/x does not overflow.
    inverse = 1 / x
    square = inverse * inverse
    tail = (1 / math.sqrt(math.pi) - square * quotient(_TAIL, square)) * inverse
    return torch.where(x < 4, quotient(_MIDDLE, x.clamp(max=4)), tail)


def _exp_of_negative_square(x: torch.Tensor) -> torch.Tensor:
    """Returns e^-x² to a few units in the last place."""
    # `few` has few bits, so its square is exact. The rest of x² is small.
    few = torch.floor(x * 16) / 16
    return torch.exp(-few * few) * torch.exp((few - x) * (x + few))


def erfc_of_f64(x: torch.Tensor) -> torch.Tensor:
    """Returns 1 - erf(x) of f64, elementwise, without cancellation."""
    y = x.abs().clamp(min=0.46, max=_END)
    right = _scaled_erfc(y) * _exp_of_negative_square(y)
    far = torch.where(x < 0, 2 - right, right)
    # NaN is not below 0.46, and the clamp keeps it.
    return torch.where(x.abs() < 0.46, 1 - _erf_near(x), far)


def _erfcx(x: torch.Tensor) -> torch.Tensor:
    y = x.abs()
    # Use the rounded square, as eager does.
    grown = 2 * torch.exp(x * x)
    right = _scaled_erfc(y.clamp(min=0.46))
    far = torch.where(x < 0, grown - right, right)
    return torch.where(y < 0.46, torch.exp(x * x) * (1 - _erf_near(x)), far)


def _ndtri(p: torch.Tensor) -> torch.Tensor:
    upper = p > 1 - _NDTRI_EDGE
    tail = torch.where(upper, 1 - p, p)
    middle = p - 0.5
    square = middle * middle
    central = (middle + middle * (square * quotient(_NDTRI_NEAR, square))) * math.sqrt(2 * math.pi)
    reach = torch.sqrt(-2 * torch.log(tail))
    inverse = 1 / reach
    near = torch.where(reach < 8, quotient(_NDTRI_MIDDLE, inverse), quotient(_NDTRI_FAR, inverse))
    far = reach - torch.log(reach) * inverse - inverse * near
    value = torch.where(tail > _NDTRI_EDGE, central, torch.where(upper, far, -far))
    value = torch.where(torch.eq(p, 0), -torch.inf, value)
    value = torch.where(torch.eq(p, 1), torch.inf, value)
    return torch.where(torch.logical_or(p < 0, p > 1), torch.nan, value)


def _erfinv(y: torch.Tensor) -> torch.Tensor:
    """Inverts erf by Newton's method: on erf up to 0.45, on its complement beyond."""
    size = y.abs()
    rest = 1 - size
    # erf(x) = 1 - 2 Φ(-√2 x). The inverse of Φ alone is not accurate enough next to 0.
    x = -_ndtri(rest / 2) * math.sqrt(0.5)
    small = size < 0.45
    for _ in range(2):
        miss = torch.where(small, _erf_near(x) - size, rest - erfc_of_f64(x))
        x = x - miss * (math.sqrt(math.pi) / 2) * torch.exp(x * x)
    x = torch.where(torch.eq(size, 1), torch.inf, x)
    return torch.where(y < 0, -x, torch.where(torch.eq(y, 0), y, x))


erfc, erfcx, ndtri, erfinv = map(in_f64, (erfc_of_f64, _erfcx, _ndtri, _erfinv))
