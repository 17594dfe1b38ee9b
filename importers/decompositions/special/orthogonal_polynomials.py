"""Orthogonal polynomials whose degrees are data.

For NaN, eager returns uninitialized memory where it needs the recurrence. Here, the result is NaN.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch._higher_order_ops.while_loop import while_loop_op

from importers.decompositions.overloads import takes_overload
from importers.decompositions.special.evaluation import in_f64

# Above this degree, eager computes a Chebyshev polynomial between -1 and 1 by the angle.
_BY_ANGLE = 8

Values = torch.Tensor


def _recurrence(
    x: Values, n: Values, first: Values, after: Callable[..., Values], ready: Values
) -> Values:
    """Returns the polynomials of degree `n`, each from the two before it.

    For negative `n`, the result is `first`, which callers replace by 0.

    Args:
        first: the polynomial of degree 1.
        after: returns the polynomial of degree k + 1 from `(k, now, before, x)`, where `now` and
            `before` are those of degrees k and k - 1.
        ready: elements that the caller computes in another way.
    """
    one = torch.ones_like(x)
    last = torch.where(ready, 0.0, n)

    def runs(degree, now, last):
        return torch.logical_and(last > degree, ~torch.isnan(now))

    def more(degree, _before, now, _value, last, _x):
        return runs(degree, now, last).any()

    def advance(degree, before, now, value, last, x):
        following = after(degree.to(torch.float64), now, before, x)
        value = torch.where(runs(degree, now, last), following, value)
        return degree + 1, now.clone(), following, value

    # The counter is an integer: IREE does not compile loops over one element that count in f64.
    start = torch.ones((), dtype=torch.int64)
    value = torch.where(torch.eq(n, 0), 1.0, first)
    *_, value = while_loop_op(more, advance, (start, one, first, value), (last, x))
    return value


def _degree(n: Values) -> Values:
    """Converts degrees as eager does: NaN and numbers beyond 64 bits become negative."""
    n = torch.trunc(n)
    return torch.where(torch.logical_and(n >= 0, n < 2.0**63), n, -1.0)


def _prepared(x: Any, n: Any) -> tuple[Values, Values]:
    x, n = torch.broadcast_tensors(x, _degree(n))
    # A loop does not accept views.
    return x + 0.0, n + 0.0


def _alternating(n: Values) -> Values:
    """Returns 1 for even and -1 for odd numbers."""
    return torch.where(torch.eq(torch.floor(n / 2) * 2, n), 1.0, -1.0)


def _chebyshev(kind: str, shifted: bool) -> Callable[..., Any]:
    """Returns the function for T, U, V or W; shifted ones are those of 2x - 1."""

    def polynomial(x: Values, n: Values) -> Values:
        x, n = _prepared(x, n)
        x = 2 * x - 1 if shifted else x
        first = {"t": x, "u": 2 * x, "v": 2 * x - 1, "w": 2 * x + 1}[kind]
        inside = torch.logical_and(x.abs() < 1, n > _BY_ANGLE)
        end = torch.eq(x.abs(), 1)
        ready = torch.logical_or(inside, end)
        value = _recurrence(x, n, first, lambda _k, now, before, x: 2 * x * now - before, ready)
        angle = torch.acos(x)
        by_angle = {
            "t": lambda: torch.cos(n * angle),
            "u": lambda: torch.sin((n + 1) * angle) / torch.sin(angle),
            "v": lambda: torch.cos((n + 0.5) * angle) / torch.cos(angle / 2),
            "w": lambda: torch.sin((n + 0.5) * angle) / torch.sin(angle / 2),
        }[kind]()
        one, count = torch.ones_like(n), n + 1 if kind == "u" else 2 * n + 1
        at_one = {"t": one, "u": count, "v": one, "w": count}[kind]
        at_minus_one = {"t": one, "u": count, "v": count, "w": one}[kind] * _alternating(n)
        value = torch.where(inside, by_angle, value)
        value = torch.where(end, torch.where(x > 0, at_one, at_minus_one), value)
        return torch.where(n < 0, 0.0, value)

    return in_f64(polynomial)


def _hermite(physicists: bool) -> Callable[..., Any]:
    """Returns the function for H, or He.

    Above a degree that depends on the dtype, it returns NaN, as eager does.
    """

    def of_type(x: Any, n: Any) -> Any:
        limit = 512 if torch.result_type(x, n) == torch.float64 else 128

        def polynomial(x: Values, n: Values) -> Values:
            x, n = _prepared(x, n)
            scale = 2 if physicists else 1
            value = _recurrence(
                x,
                n,
                scale * x,
                lambda k, now, before, x: scale * (x * now - k * before),
                torch.gt(n, limit),
            )
            value = torch.where(n > limit, torch.nan, value)
            return torch.where(n < 0, 0.0, value)

        return in_f64(polynomial)(x, n)

    return of_type


def _laguerre(x: Values, n: Values) -> Values:
    x, n = _prepared(x, n)

    def after(k, now, before, x):
        return ((2 * k + (1 - x)) * now - k * before) / (k + 1)

    value = _recurrence(x, n, 1 - x, after, torch.eq(x, 0))
    value = torch.where(torch.eq(x, 0), 1.0, value)
    return torch.where(n < 0, 0.0, value)


def _legendre(x: Values, n: Values) -> Values:
    x, n = _prepared(x, n)

    def after(k, now, before, x):
        return ((2 * k + 1) * x * now - k * before) / (k + 1)

    end = torch.eq(x.abs(), 1)
    value = _recurrence(x, n, x, after, end)
    value = torch.where(end, torch.where(x > 0, 1.0, _alternating(n)), value)
    return torch.where(n < 0, 0.0, value)


# The keys are the operators' names after `special_`.
_POLYNOMIALS = {
    **{f"chebyshev_polynomial_{kind}": _chebyshev(kind, False) for kind in "tuvw"},
    **{f"shifted_chebyshev_polynomial_{kind}": _chebyshev(kind, True) for kind in "tuvw"},
    "hermite_polynomial_h": _hermite(True),
    "hermite_polynomial_he": _hermite(False),
    "laguerre_polynomial_l": in_f64(_laguerre),
    "legendre_polynomial_p": in_f64(_legendre),
}


@takes_overload
def polynomial(overload: torch._ops.OpOverload, x: Any, n: Any) -> Any:
    """Computes `special_chebyshev_polynomial_t` and the operators of other polynomials."""
    return _POLYNOMIALS[overload.overloadpacket.__name__.removeprefix("special_")](x, n)
