"""Scatters along an axis that is counted from the front."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch


def with_axis_from_the_front(overload: torch._ops.OpOverload) -> Callable[..., Any]:
    """A decomposition of a scatter: the same call with a non-negative `dim`."""

    def scatter(x: torch.Tensor, dim: int, *args: Any, **kwargs: Any) -> torch.Tensor:
        if dim >= 0:
            return NotImplemented
        return overload(x, dim % max(x.dim(), 1), *args, **kwargs)

    return scatter
