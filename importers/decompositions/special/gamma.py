"""The gamma function's logarithm and its derivatives, and the zeta function."""

from __future__ import annotations

import math

import torch
from torch._higher_order_ops.while_loop import while_loop_op

from importers.decompositions.special.evaluation import in_f64, polynomial

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


# (2k)! / B(2k) of the Euler-Maclaurin formula, for k from 1 on.
_EULER_MACLAURIN = (
    *(12.0, -720.0, 30240.0, -1209600.0, 47900160.0, -1.8924375803183791606e9, 7.47242496e10),
    *(-2.950130727918164224e12, 1.1646782814350067249e14, -4.5979787224074726105e15),
    *(1.8152105401943546773e17, -7.1661652561756670113e18),
)
# Terms are added one by one for at least this many steps, and while q + n is at most this.
_TERMS = 9
_PRECISION = 2.0**-53
# For q below this, the sum of eager takes too long to wait for. The result here is NaN.
_LEAST = -(2.0**40)
# Coefficients of digamma's asymptotic series in 1/x², highest power first: B(2k) / 2k.
_DIGAMMA = (1 / 12, -691 / 32760, 1 / 132, -1 / 240, 1 / 252, -1 / 120, 1 / 12)
_DIGAMMA_STEPS = 10


def _zeta(x: torch.Tensor, q: torch.Tensor) -> torch.Tensor:
    """Returns Σ (q + n)^-x by the Euler-Maclaurin formula, as in Cephes."""
    x, q = torch.broadcast_tensors(x, q)
    x, q = x + 0.0, q + 0.0
    whole = torch.eq(torch.floor(q), q)
    pole = torch.logical_or(torch.eq(x, 1), torch.logical_and(q <= 0, whole))
    complex_power = torch.logical_and(q <= 0, torch.ne(torch.floor(x), x))
    undefined = torch.logical_or(x < 1, torch.logical_and(complex_power, ~whole))
    undefined = torch.logical_or(undefined, ~(q > _LEAST))
    first = torch.where(torch.logical_or(pole, undefined), 1.0, q)

    def is_added(step, place):
        return torch.logical_or(step < _TERMS, place <= _TERMS)

    def more(step, place, _total, _x):
        return is_added(step, place).any()

    def add(step, place, total, x):
        added = is_added(step, place)
        place = torch.where(added, place + 1, place)
        return step + 1, place, total + torch.where(added, torch.pow(place, -x), 0.0)

    start = (torch.zeros((), dtype=torch.int64), first, torch.pow(first, -x))
    _, place, total = while_loop_op(more, add, start, (x,))
    last = torch.pow(place, -x)
    rest = last * place / (x - 1) - 0.5 * last
    factor, power = x, last / place
    for index, divisor in enumerate(_EULER_MACLAURIN):
        rest = rest + factor * power / divisor
        factor = factor * (x + (2 * index + 1)) * (x + (2 * index + 2))
        power = power / (place * place)
    # For large exponents, the factors overflow, and the rest is negligible.
    total = torch.where(last.abs() < _PRECISION * total.abs(), total, total + rest)
    total = torch.where(undefined, torch.nan, total)
    return torch.where(torch.logical_and(pole, ~(x < 1)), torch.inf, total)


def _digamma(x: torch.Tensor) -> torch.Tensor:
    left = x < 0
    # tan(πx) depends only on the fractional part of x, which keeps its sign.
    fraction = x - torch.trunc(x)
    reflected = math.pi / torch.tan(math.pi * fraction)
    y = torch.where(left, 1 - x, x)
    total = torch.zeros_like(x)
    for _ in range(_DIGAMMA_STEPS):
        below = y < _DIGAMMA_STEPS
        total = total - torch.where(below, 1 / y, 0.0)
        y = torch.where(below, y + 1, y)
    inverse = 1 / y
    square = inverse * inverse
    total = total + torch.log(y) - 0.5 * inverse - square * polynomial(_DIGAMMA, square)
    total = torch.where(left, total - reflected, total)
    total = torch.where(torch.logical_and(left, torch.eq(fraction, 0)), torch.nan, total)
    # The sign of the zero determines that of the infinity.
    return torch.where(torch.eq(x, 0), -1 / x, total)


def _trigamma(x: torch.Tensor) -> torch.Tensor:
    left = x < 0.5
    sine = torch.sin(math.pi * x)
    y = torch.where(left, 1 - x, x)
    total = torch.zeros_like(x)
    for _ in range(6):
        total = total + 1 / (y * y)
        y = y + 1
    inverse = 1 / y
    square = inverse * inverse
    series = 1 + inverse / 2 + square * (1 / 6 - square * (1 / 30 - square / 42))
    total = total + series * inverse
    return torch.where(left, math.pi**2 / (sine * sine) - total, total)


def polygamma(n: int, x: torch.Tensor) -> torch.Tensor:
    """Returns the derivative of digamma of order `n`."""
    if n < 2:
        return (digamma, trigamma)[n](x)
    try:
        scale = math.factorial(n) * 1.0
    except OverflowError:
        scale = math.inf
    signed = scale if n % 2 else -scale
    return in_f64(lambda y: signed * _zeta(torch.full_like(y, n + 1), y))(x)


zeta, digamma, trigamma = map(in_f64, (_zeta, _digamma, _trigamma))
