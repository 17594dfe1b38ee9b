"""Clamping of values to limits."""

from __future__ import annotations

from typing import Any

import torch


def _promoted(x: torch.Tensor, *limits: Any) -> torch.Tensor:
    """Converts integer `x` to the default floating-point dtype if a limit is a float."""
    if x.is_floating_point() or not any(isinstance(limit, float) for limit in limits):
        return x
    return x.to(torch.get_default_dtype())


def clamp(x: torch.Tensor, min: float | None = None, max: float | None = None) -> torch.Tensor:
    """Returns `x`, at least `min`, and then at most `max`; NaN stays NaN.

    Integers become floating point if a limit is a float.
    """
    x = _promoted(x, min, max)
    if min is not None:
        x = torch.where(x < min, min, x)
    if max is not None:
        x = torch.where(x > max, max, x)
    return x


def clamp_min(x: torch.Tensor, min: float) -> torch.Tensor:
    """Returns `x`, at least `min`; integers become floating point if `min` is a float."""
    return clamp(x, min=min)


def clamp_max(x: torch.Tensor, max: float) -> torch.Tensor:
    """Returns `x`, at most `max`; integers become floating point if `max` is a float."""
    return clamp(x, max=max)


def hardtanh(x: torch.Tensor, min_val: float = -1, max_val: float = 1) -> torch.Tensor:
    """Returns `x`, at least `min_val` and at most `max_val`, in its own dtype."""
    if not x.is_floating_point():
        min_val, max_val = int(min_val), int(max_val)
    return clamp(x, min=min_val, max=max_val)


def clamp_tensor(
    x: torch.Tensor, min: torch.Tensor | None = None, max: torch.Tensor | None = None
) -> torch.Tensor:
    """Returns `x`, at least `min`, and then at most `max`, elementwise; NaN where any is NaN."""
    if min is not None:
        x = torch.maximum(x, min)
    return x if max is None else torch.minimum(x, max)
