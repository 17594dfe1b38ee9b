"""Pooling with windows larger than the input, without a batch, or with the default stride."""

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
    """Computes `aten.avg_pool2d` with windows cut to the padded input.

    A window larger than the padded input needs `ceil_mode`, and is the only one along its axis. It
    covers and counts no elements behind the padding, so a shorter window has the same result.
    Returns NotImplemented if all windows fit, and for sizes that are not known at capture.

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
    # The default step is the length of the window. A single window needs no step, but the lowering
    # pads the input to it.
    steps = [
        side if side < asked else step
        for side, asked, step in zip(fitting, window, _pair(stride or kernel_size), strict=True)
    ]
    return torch.ops.aten.avg_pool2d.default(x, fitting, steps, margin, *rest)


def without_batch(pool: torch._ops.OpOverload, axes: int) -> Callable[..., Any]:
    """Returns a decomposition of `pool` that adds a batch of one to tensors without a batch.

    It returns NotImplemented for other tensors.
    """

    def pooled(x: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        if x.dim() != axes + 1:
            return NotImplemented
        result = pool(x.unsqueeze(0), *args, **kwargs)
        if isinstance(result, torch.Tensor):
            return result.squeeze(0)
        # The maxima, and their indices.
        return tuple(part.squeeze(0) for part in result)

    return pooled


def with_stride(pool: torch._ops.OpOverload) -> Callable[..., Any]:
    """Returns a decomposition of `pool` that passes the default stride, the size of the window.

    It returns NotImplemented if there is a stride.
    """

    def pooled(
        x: torch.Tensor, kernel_size: Sequence[int], stride: Sequence[int] = (), *args: Any
    ) -> Any:
        return NotImplemented if stride else pool(x, kernel_size, kernel_size, *args)

    return pooled


def _pair(sizes: Sequence[int]) -> list[int]:
    return list(sizes) * 2 if len(sizes) == 1 else list(sizes)
