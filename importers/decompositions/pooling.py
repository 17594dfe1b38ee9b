"""Pooling windows that are larger than what they pool."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch


def avg_pool2d(
    x: torch.Tensor,
    kernel_size: Sequence[int],
    stride: Sequence[int] = (),
    padding: Sequence[int] = (0,),
    *rest: Any,
) -> Any:
    """As `aten.avg_pool2d`, with no window beyond the padding.

    Only `ceil_mode` allows one, and it is alone along its axis then. What it covers, and counts,
    ends with the padding, whatever its length. Sizes that are not known at capture are left.

    Args:
        rest: `ceil_mode`, `count_include_pad` and `divisor_override`.
    """
    height, width = x.shape[-2:]
    window, margin = _pair(kernel_size), _pair(padding)
    reach = [size + 2 * pad for size, pad in zip((height, width), margin, strict=True)]
    if not all(isinstance(length, int) for length in reach):
        return NotImplemented
    fitting = [min(side, length) for side, length in zip(window, reach, strict=True)]
    if fitting == window:
        return NotImplemented
    # By default, a window's own length. After a window that is alone, the step has no meaning, but
    # the lowering pads the input to it.
    steps = [
        side if side < asked else step
        for side, asked, step in zip(fitting, window, _pair(stride or kernel_size), strict=True)
    ]
    return torch.ops.aten.avg_pool2d.default(x, fitting, steps, margin, *rest)


def without_batch(pool: torch._ops.OpOverload, axes: int) -> Callable[..., Any]:
    """Pooling of a tensor without a batch as of a batch of one; others are left."""

    def pooled(x: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        if x.dim() != axes + 1:
            return NotImplemented
        return pool(x.unsqueeze(0), *args, **kwargs).squeeze(0)

    return pooled


def _pair(sizes: Sequence[int]) -> list[int]:
    return list(sizes) * 2 if len(sizes) == 1 else list(sizes)


def max_pool2d(x: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
    """Of (channels, height, width) as of a batch of one; others are left."""
    if x.dim() != 3:
        return NotImplemented
    return torch.max_pool2d(x.unsqueeze(0), *args, **kwargs).squeeze(0)
