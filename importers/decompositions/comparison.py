"""Comparisons with numbers, booleans and NaN, and limits of values."""

from __future__ import annotations

from typing import Any

import torch
from torch.fx.experimental.symbolic_shapes import guard_or_false

from importers.decompositions.numbers import is_changed, rounded
from importers.decompositions.overloads import takes_overload


@takes_overload
def compare_with_number(overload: torch._ops.OpOverload, x: torch.Tensor, number: float) -> Any:
    """Compares `x` with a number that its dtype holds.

    If `x` is floating point, the number becomes a float and is rounded to the dtype. If `x` is an
    integer tensor, an int wraps around to the range of its dtype, and a float makes `x` floating
    point, as in eager. Returns NotImplemented for other calls.
    """
    if isinstance(number, (int, float)) and x.is_floating_point():
        is_exact = isinstance(number, float) and not is_changed(number, x.dtype)
        return NotImplemented if is_exact else overload(x, rounded(number, x.dtype))
    if isinstance(number, float) and not x.is_complex():
        return overload(x.to(torch.result_type(x, number)), number)
    if not isinstance(number, int) or x.dtype == torch.bool or x.is_complex():
        return NotImplemented
    limits = torch.iinfo(x.dtype)
    if limits.min <= number <= limits.max:
        return NotImplemented
    return overload(x, (number - limits.min) % (limits.max - limits.min + 1) + limits.min)


@takes_overload
def compare_booleans_with_number(
    overload: torch._ops.OpOverload, x: torch.Tensor, number: Any
) -> Any:
    """Compares booleans, as numbers, with a number; NotImplemented for other tensors."""
    if x.dtype != torch.bool:
        return NotImplemented
    if isinstance(number, bool):
        number = int(number)
    return overload(x.to(torch.result_type(x, number)), number)


@takes_overload
def compare_booleans_with_integers(
    overload: torch._ops.OpOverload, x: torch.Tensor, y: torch.Tensor
) -> Any:
    """Compares booleans, as numbers, with numbers; NotImplemented for other tensors."""
    if (x.dtype == torch.bool) == (y.dtype == torch.bool):
        return NotImplemented
    dtype = torch.result_type(x, y)
    if dtype == torch.bool:
        return NotImplemented
    return overload(x.to(dtype), y.to(dtype))


def isin(elements: torch.Tensor, test: torch.Tensor, **options: bool) -> Any:
    """Returns whether each element is one of `test`, compared as eager does.

    Eager compares few elements in the common dtype, in which a tensor without dimensions does not
    count. It concatenates many elements, in a dtype that holds all values. Returns NotImplemented
    for tensors of that dtype.
    """
    few = guard_or_false(test.numel() < 10.0 * elements.numel() ** 0.145)
    dtype = (torch.result_type if few else _widest)(elements, test)
    if elements.dtype == test.dtype == dtype:
        return NotImplemented
    return torch.isin(elements.to(dtype), test.to(dtype), **options)


def number_is_in(number: float, test: torch.Tensor, **options: bool) -> torch.Tensor:
    """Returns whether a number is one of `test`, like `isin` of a tensor without dimensions."""
    dtype = {bool: torch.bool, int: torch.int64}.get(type(number), torch.float64)
    return torch.isin(torch.full((), number, dtype=dtype), test, **options)


def _widest(x: torch.Tensor, y: torch.Tensor) -> torch.dtype:
    return torch.promote_types(x.dtype, y.dtype)


def isclose(
    x: torch.Tensor,
    y: torch.Tensor,
    rtol: float = 1e-5,
    atol: float = 1e-8,
    equal_nan: bool = False,
) -> torch.Tensor:
    """Returns whether the elements differ by at most `atol` + `rtol` |y|.

    NaN is close to nothing, or with `equal_nan` to NaN only.
    """
    close = torch.eq(x, y)
    if not (x.is_floating_point() or x.is_complex()):
        if not rtol and not atol:
            return close
        # As in eager: the difference of integers could overflow.
        x, y = x.to(torch.get_default_dtype()), y.to(torch.get_default_dtype())
    gap, allowed = (x - y).abs(), (y * rtol).abs() + atol
    near = torch.logical_and(torch.lt(gap, torch.inf), torch.le(gap, allowed))
    close = torch.logical_or(close, near)
    if equal_nan and x.is_floating_point():
        close = torch.logical_or(close, torch.logical_and(torch.isnan(x), torch.isnan(y)))
    return close


def equal(x: torch.Tensor, y: torch.Tensor) -> Any:
    """Returns whether elements are equal, bool; NotImplemented for integers."""
    if not (x.is_floating_point() or y.is_floating_point()):
        return NotImplemented
    return torch.logical_not(torch.ne(x, y))


def is_finite(x: torch.Tensor) -> torch.Tensor:
    """Returns whether each element is finite: neither infinite nor NaN."""
    if not x.is_floating_point():
        return torch.ones_like(x, dtype=torch.bool)
    return torch.logical_not(torch.logical_or(torch.isinf(x), torch.isnan(x)))


def maximum(x: torch.Tensor, y: torch.Tensor) -> Any:
    """Returns the elementwise maximum; NaN if an operand is NaN; NotImplemented for integers."""
    return _extreme(x, y, torch.gt)


def minimum(x: torch.Tensor, y: torch.Tensor) -> Any:
    """Returns the elementwise minimum; NaN if an operand is NaN; NotImplemented for integers."""
    return _extreme(x, y, torch.lt)


def fmax(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Returns the elementwise maximum; if one operand is NaN, the other one."""
    return _number(x, y, torch.gt)


def fmin(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Returns the elementwise minimum; if one operand is NaN, the other one."""
    return _number(x, y, torch.lt)


def _extreme(x: torch.Tensor, y: torch.Tensor, before: Any) -> Any:
    dtype = torch.result_type(x, y)
    if not dtype.is_floating_point:
        return NotImplemented
    x, y = x.to(dtype), y.to(dtype)
    return torch.where(torch.logical_or(before(x, y), torch.isnan(x)), x, y)


def _number(x: torch.Tensor, y: torch.Tensor, before: Any) -> torch.Tensor:
    dtype = torch.result_type(x, y)
    x, y = x.to(dtype), y.to(dtype)
    first = before(x, y)
    if dtype.is_floating_point:
        first = torch.logical_or(first, torch.isnan(y))
    return torch.where(first, x, y)


def _promoted(x: torch.Tensor, *limits: Any) -> torch.Tensor:
    """Converts integer `x` to the default floating-point dtype if a limit is a float."""
    if x.is_floating_point() or not any(isinstance(limit, float) for limit in limits):
        return x
    return x.to(torch.get_default_dtype())


def clamp(x: torch.Tensor, min: float | None = None, max: float | None = None) -> torch.Tensor:
    """Clamps `x` to at least `min`, then to at most `max`; NaN stays NaN.

    Integers become floating point if a limit is a float.
    """
    x = _promoted(x, min, max)
    if min is not None:
        x = torch.where(x < min, min, x)
    if max is not None:
        x = torch.where(x > max, max, x)
    return x


def clamp_min(x: torch.Tensor, min: float) -> torch.Tensor:
    """Clamps `x` to at least `min`; integers become floating point if `min` is a float."""
    return clamp(x, min=min)


def clamp_max(x: torch.Tensor, max: float) -> torch.Tensor:
    """Clamps `x` to at most `max`; integers become floating point if `max` is a float."""
    return clamp(x, max=max)


def hardtanh(x: torch.Tensor, min_val: float = -1, max_val: float = 1) -> torch.Tensor:
    """Clamps `x` to at least `min_val` and at most `max_val`, in its own dtype."""
    if not x.is_floating_point():
        min_val, max_val = int(min_val), int(max_val)
    return clamp(x, min=min_val, max=max_val)


def clamp_tensor(
    x: torch.Tensor, min: torch.Tensor | None = None, max: torch.Tensor | None = None
) -> torch.Tensor:
    """Clamps each element to at least `min`, then to at most `max`; NaN if any of them is NaN."""
    if min is not None:
        x = torch.maximum(x, min)
    return x if max is None else torch.minimum(x, max)
