"""Limits of another type than the tensor's."""

from __future__ import annotations

from typing import Any

import torch


def _promoted(x: torch.Tensor, *limits: Any) -> torch.Tensor | None:
    """Integers in the floating-point type that the limits ask for; None where they ask for none."""
    if x.is_floating_point() or not any(isinstance(limit, float) for limit in limits):
        return None
    return x.to(torch.get_default_dtype())


def clamp(x: torch.Tensor, min: float | None = None, max: float | None = None) -> Any:
    """`x` between two numbers; integers become floating point where a limit is."""
    promoted = _promoted(x, min, max)
    return NotImplemented if promoted is None else torch.clamp(promoted, min, max)


def clamp_min(x: torch.Tensor, min: float) -> Any:
    """`x`, at least `min`; integers become floating point where that is."""
    promoted = _promoted(x, min)
    return NotImplemented if promoted is None else torch.clamp_min(promoted, min)


def clamp_max(x: torch.Tensor, max: float) -> Any:
    """`x`, at most `max`; integers become floating point where that is."""
    promoted = _promoted(x, max)
    return NotImplemented if promoted is None else torch.clamp_max(promoted, max)
