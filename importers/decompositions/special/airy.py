"""The Airy function Ai."""

from __future__ import annotations

import math

import torch

from importers.decompositions.special.evaluation import in_f64, quotient

# Rational functions from Moshier's Cephes. `_FAR` is in 1/ζ, for x from 2.09 on. `_SINE` and
# `_COSINE` are in 1/ζ², for x below -2.09: the factors of the sine and cosine of the phase. As in
# PyTorch, two denominators lack the leading 1 that they have in Cephes.
_FAR = (
    (
        0.346538101525629,
        12.007595273964581,
        76.27960536152345,
        168.08922493463058,
        159.75639135016442,
        70.53609068404442,
        14.026469116338967,
        1.0,
    ),
    (
        0.5675945326387702,
        14.75625625848472,
        84.51389701414746,
        177.31808814540045,
        164.2346928715297,
        71.47784008255756,
        14.095913560783403,
        1.0,
    ),
)
_SINE = (
    (
        -0.1316963234183318,
        -0.6264565444319123,
        -0.6931580360369335,
        -0.2797799815451191,
        -0.04919001326095003,
        -0.004062659235948854,
        -0.0001592764962392621,
        -2.776491081552329e-06,
        -1.6778769848911465e-08,
    ),
    (
        13.356042070655324,
        32.682503279522464,
        26.736704094149957,
        9.187074029072596,
        1.4752914677166642,
        0.11568717379518804,
        0.004402916416152112,
        7.547203482874142e-05,
        4.5185009297058035e-07,
    ),
)
_COSINE = (
    (
        0.01973399320916857,
        0.39110302961568827,
        1.0657989759959559,
        0.9391692298166502,
        0.35146565610554764,
        0.06338889196289255,
        0.005858041130483885,
        0.000282851600836737,
        6.98793669997261e-06,
        8.117892395543892e-08,
        3.415517847659236e-10,
    ),
    (
        9.30892908077442,
        19.835292871831214,
        15.564662893286462,
        5.476860694229755,
        0.9542936116189619,
        0.08645808263523921,
        0.004126565238242226,
        0.00010125908511650914,
        1.1716673321441352e-06,
        4.9183457006293e-09,
    ),
)
_EDGE = 2.09
# Ai(103.892) is 0 in f64.
_END = 103.892
# The number of terms of the power series. Up to the edge, the last one is below 1e-18.
_TERMS = 14
_VALUE, _SLOPE = 0.355028053887817239260, 0.258819403792806798405


def _airy_ai(x: torch.Tensor) -> torch.Tensor:
    size = x.abs()
    root = torch.sqrt(size)
    zeta = 2 * size * root / 3
    scale = 1 / math.sqrt(math.pi) / torch.sqrt(root)
    right = scale * quotient(_FAR, 1 / zeta) / 2 * torch.exp(-zeta)
    inverse = 1 / zeta
    square = inverse * inverse
    angle = zeta + math.pi / 4
    sine = 1 + square * quotient(_SINE, square)
    cosine = inverse * quotient(_COSINE, square)
    left = scale * (torch.sin(angle) * sine - torch.cos(angle) * cosine)
    value = torch.where(x < 0, left, torch.where(x > _END, 0.0, right))
    value = torch.where(size < _EDGE, _series(x), value)
    # Eager returns NaN for infinities.
    return torch.where(torch.isinf(x), torch.nan, value)


def _series(x: torch.Tensor) -> torch.Tensor:
    cube = x * x * x
    even, odd = torch.ones_like(x), torch.ones_like(x)
    for index in range(_TERMS, 0, -1):
        even = 1 + even * cube / (3 * index * (3 * index - 1))
        odd = 1 + odd * cube / (3 * index * (3 * index + 1))
    return _VALUE * even - _SLOPE * x * odd


airy_ai = in_f64(_airy_ai)
