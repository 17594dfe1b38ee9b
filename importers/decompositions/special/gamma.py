"""The logarithm of the gamma function."""

from __future__ import annotations

import math

import torch

from importers.decompositions.special.evaluation import in_f64

# Lanczos's approximation with Paul Godfrey's coefficients: 15 terms, accurate to about 1e-15.
_SHIFT = 607 / 128
_COEFFICIENTS = (
    0.99999999999999709182,
    57.156235665862923517,
    -59.597960355475491248,
    14.136097974741747174,
    -0.49191381609762019978,
    0.33994649984811888699e-4,
    0.46523628927048575665e-4,
    -0.98374475304879564677e-4,
    0.15808870322491248884e-3,
    -0.21026444172410488319e-3,
    0.21743961811521264320e-3,
    -0.16431810653676389022e-3,
    0.84418223983852743293e-4,
    -0.26190838401581408670e-4,
    0.36899182659531622704e-5,
)


def log_gamma(x: torch.Tensor) -> torch.Tensor:
    """Returns log |Γ(x)|, elementwise, of f64."""
    left = x < 0.5
    result = _right(torch.where(left, 1 - x, x))
    # Γ(x) Γ(1 - x) = π / sin(πx). The magnitude of the sine depends only on the distance of x to
    # the nearest whole number.
    sine = _sine((x - torch.round(x)).abs())
    result = torch.where(left, math.log(math.pi) - torch.log(sine) - result, result)
    return torch.where(torch.isinf(x), torch.inf, result)


def _sine(x: torch.Tensor) -> torch.Tensor:
    """Returns sin(πx) for `x` from 0 to 0.5, by its series: IREE has no sine in f64."""
    square, result = x * x, torch.zeros_like(x)
    for power in range(23, 0, -2):
        coefficient = (-1) ** (power // 2) * math.pi**power / math.factorial(power)
        result = result * square + coefficient
    return result * x


def _right(x: torch.Tensor) -> torch.Tensor:
    """Returns log Γ(x) for `x` from 0.5 on."""
    series = torch.full_like(x, _COEFFICIENTS[0])
    for index, coefficient in enumerate(_COEFFICIENTS[1:]):
        series = series + coefficient / (x + float(index))
    base = x + (_SHIFT - 0.5)
    result = (x - 0.5) * torch.log(base) - base + torch.log(series) + 0.5 * math.log(2 * math.pi)
    return torch.where(torch.logical_or(torch.eq(x, 1.0), torch.eq(x, 2.0)), 0.0, result)


lgamma = in_f64(log_gamma)
