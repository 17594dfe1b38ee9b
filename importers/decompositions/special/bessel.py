"""Bessel functions of the first and the second kind, of orders 0 and 1."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

from importers.decompositions.special.evaluation import in_f64, quotient

# Rational functions from Moshier's Cephes. From 5 on, `_COSINE` and `_SINE`, in 25/x², are the
# factors of the cosine and sine of the phase. Up to 5, `_J` and `_Y` are in x²: J without its first
# two zeros, whose squares are in `_ZEROS`, and Y without 2/π J(x) log x.
_COSINE0 = (
    (
        0.0007969367292973471,
        0.08283523921074408,
        1.239533716464143,
        5.447250030587687,
        8.74716500199817,
        5.303240382353949,
        1.0,
    ),
    (
        0.0009244088105588637,
        0.08562884743544745,
        1.2535274390105895,
        5.470977403304171,
        8.761908832370695,
        5.306052882353947,
        1.0,
    ),
)
_SINE0 = (
    (
        -0.011366383889846916,
        -1.2825271867050931,
        -19.553954425773597,
        -93.20601521237683,
        -177.68116798048806,
        -147.07750515495118,
        -51.41053267665993,
        -6.050143506007285,
    ),
    (
        64.3178256118178,
        856.4300259769806,
        3882.4018360540163,
        7240.467741956525,
        5930.727011873169,
        2062.0933166032783,
        242.0057402402914,
    ),
)
_J0 = (
    (
        -4794432209.782018,
        1956174919465.5657,
        -249248344360967.72,
        9708622510473064.0,
    ),
    (
        499.563147152651,
        173785.4016763747,
        48440965.83399621,
        11185553704.535683,
        2112775201154.892,
        310518229857422.56,
        3.1812195594320496e16,
        1.7108629408104315e18,
    ),
)
_Y0 = (
    (
        15592.436785523574,
        -14663929.59039716,
        5435264770.518765,
        -982136065717.9115,
        87590639439536.7,
        -3466283033847297.0,
        4.4273326857256984e16,
        -1.8495080043698668e16,
    ),
    (
        1041.2835366425984,
        626107.330137135,
        268919633.39381415,
        86400248710.3935,
        20297961275010.555,
        3171577528429750.5,
        2.5059625617265306e17,
    ),
)
_COSINE1 = (
    (
        0.0007621256162081731,
        0.07313970569409176,
        1.1271960812968493,
        5.112079511468076,
        8.424045901417724,
        5.214515986823615,
        1.0,
    ),
    (
        0.0005713231280725487,
        0.06884559087544954,
        1.105142326340617,
        5.073863861286015,
        8.399855543276042,
        5.209828486823619,
        1.0,
    ),
)
_SINE1 = (
    (
        0.05108625947501766,
        4.982138729512334,
        75.82382841325453,
        366.7796093601508,
        710.8563049989261,
        597.4896124006136,
        211.68875710057213,
        25.207020585802372,
    ),
    (
        74.23732770356752,
        1056.4488603826283,
        4986.410583376536,
        9562.318924047562,
        7997.041604473507,
        2826.1927851763908,
        336.0936078106983,
    ),
)
_J1 = (
    (
        -899971225.7055594,
        452228297998.19403,
        -72749424522181.83,
        3682957328638529.0,
    ),
    (
        620.8364781180543,
        256987.25675774884,
        83514679.14319493,
        22151159547.97925,
        4749141220799.914,
        784369607876235.9,
        8.952223361846274e16,
        5.322786203326801e18,
    ),
)
_Y1 = (
    (
        1263204747.9017804,
        -647355876379.1603,
        114509511541823.73,
        -8127702555013251.0,
        2.024394757135949e17,
        -7.788771962659501e17,
    ),
    (
        594.3015923461282,
        235564.09294306856,
        73481194.44597217,
        18760131610.870617,
        3882312774962.3857,
        620557727146953.8,
        6.871410873553005e16,
        3.9727060811656064e18,
    ),
)
_ZEROS0 = (5.78318596294678452118, 30.4712623436620863991)
_ZEROS1 = (14.6819706421238932572, 49.2184563216946036703)
_PHASE0, _PHASE1 = math.pi / 4, 3 * math.pi / 4

Rational = Sequence[Sequence[float]]


def _near(x: torch.Tensor, rational: Rational, zeros: Sequence[float]) -> torch.Tensor:
    square = x * x
    return (square - zeros[0]) * (square - zeros[1]) * quotient(rational, square)


def _waves(
    x: torch.Tensor, rationals: Sequence[Rational], phase: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns J and Y of numbers from 5 on."""
    inverse = 5 / x
    cosine, sine = (quotient(rational, inverse * inverse) for rational in rationals)
    sine = sine * inverse
    angle = x - phase
    scale = math.sqrt(2 / math.pi) / torch.sqrt(x)
    first = cosine * torch.cos(angle) - sine * torch.sin(angle)
    second = cosine * torch.sin(angle) + sine * torch.cos(angle)
    return first * scale, second * scale


def _j0(x: torch.Tensor) -> torch.Tensor:
    x = x.abs()
    far, _ = _waves(x, (_COSINE0, _SINE0), _PHASE0)
    return torch.where(x <= 5, _near(x, _J0, _ZEROS0), far)


def _j1(x: torch.Tensor) -> torch.Tensor:
    size = x.abs()
    far, _ = _waves(size, (_COSINE1, _SINE1), _PHASE1)
    return torch.where(size <= 5, _near(x, _J1, _ZEROS1) * x, torch.where(x < 0, -far, far))


def _y0(x: torch.Tensor) -> torch.Tensor:
    near = quotient(_Y0, x * x) + (2 / math.pi) * torch.log(x) * _near(x, _J0, _ZEROS0)
    _, far = _waves(x, (_COSINE0, _SINE0), _PHASE0)
    return _second_kind(x, near, far)


def _y1(x: torch.Tensor) -> torch.Tensor:
    j1 = _near(x, _J1, _ZEROS1) * x
    near = x * quotient(_Y1, x * x) + (2 / math.pi) * (j1 * torch.log(x) - 1 / x)
    _, far = _waves(x, (_COSINE1, _SINE1), _PHASE1)
    return _second_kind(x, near, far)


def _second_kind(x: torch.Tensor, near: torch.Tensor, far: torch.Tensor) -> torch.Tensor:
    value = torch.where(x <= 5, near, far)
    value = torch.where(torch.eq(x, 0), -torch.inf, value)
    return torch.where(x < 0, torch.nan, value)


def _spherical_j0(x: torch.Tensor) -> torch.Tensor:
    square, series = x * x, torch.ones_like(x)
    for index in range(6, 0, -1):
        series = 1 - series * square / (2 * index * (2 * index + 1))
    value = torch.where(x.abs() < 0.5, series, torch.sin(x) / x)
    return torch.where(torch.isinf(x), 0.0, value)


j0, j1, y0, y1, spherical_j0 = map(in_f64, (_j0, _j1, _y0, _y1, _spherical_j0))
