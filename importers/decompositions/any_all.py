"""`any` and `all` over several dimensions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch


def over_several(
    over_one: Callable[[torch.Tensor, int, bool], torch.Tensor],
) -> Callable[..., torch.Tensor]:
    """Returns `any` or `all` over several dimensions, which reduces one dimension at a time."""

    def reduce(
        x: torch.Tensor, dim: Sequence[int] | None = None, keepdim: bool = False
    ) -> torch.Tensor:
        dtype = x.dtype if x.dtype == torch.uint8 else torch.bool
        axes = range(x.dim()) if dim is None else {axis % x.dim() for axis in dim}
        for axis in sorted(axes, reverse=True):
            x = over_one(x, axis, keepdim)
        # As in eager, the result for uint8 is uint8.
        return x.to(dtype)

    return reduce
