"""Random samples from uniform ones."""

from __future__ import annotations

from typing import Any

import torch


def multinomial(
    weights: torch.Tensor,
    num_samples: int,
    replacement: bool = False,
    generator: torch.Generator | None = None,
) -> torch.Tensor:
    """Places that are drawn with the given weights.

    Args:
        weights: (categories) or (rows, categories), not negative; they need not add up to 1.
        num_samples: how many in each row; without `replacement`, none twice.

    Returns:
        i64, (num_samples) or (rows, num_samples).
    """
    weights = weights.to(torch.float32)
    if replacement and num_samples != 1:
        return _drawn_with_replacement(weights, num_samples)
    # Each category waits for an exponential time, at the rate of its weight: the first ones come.
    waits = -torch.log1p(-torch.rand(weights.shape))
    speed = weights / waits.clamp(min=torch.finfo(torch.float32).tiny)
    if num_samples == 1:
        return torch.argmax(speed, -1, keepdim=True)
    return torch.topk(speed, num_samples, -1).indices


def _drawn_with_replacement(weights: torch.Tensor, num_samples: int) -> torch.Tensor:
    ends = torch.cumsum(weights, -1)
    points = torch.rand((*weights.shape[:-1], num_samples)) * ends[..., -1:]
    # A category of weight 0 ends where the one before it does, at a point that it does not hold.
    return (points.unsqueeze(-1) >= ends.unsqueeze(-2)).sum(-1)


def permutation(n: int, **options: Any) -> torch.Tensor:
    """The integers below `n`, in random order."""
    order = torch.sort(torch.rand(n), stable=True).indices
    return order.to(options.get("dtype") or torch.int64)


def normal(mean: Any, std: Any = 1.0, generator: torch.Generator | None = None) -> torch.Tensor:
    """Normal samples: one for each mean, standard deviation, or both, of which one is a tensor."""
    like = mean + torch.zeros_like(std) if isinstance(std, torch.Tensor) else mean
    return torch.randn_like(like) * std + mean
