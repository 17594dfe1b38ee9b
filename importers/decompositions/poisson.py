"""Samples of Poisson distributions, by eager's methods with a fixed number of draws."""

from __future__ import annotations

import torch

from importers.decompositions.assertions import require

# Rates from here on are sampled by rejection.
_LARGE = 10.0
# The uniform numbers of each sample. For a rate below 10, more than 64 events have a probability
# of 1e-30. For others, two numbers give a sample with a probability of at least 3/4.
_DRAWS = 64


def poisson(rate: torch.Tensor, generator: torch.Generator | None = None) -> torch.Tensor:
    """Returns Poisson samples, as `rate` in shape and floating-point dtype."""
    require(torch.ge(rate, 0), "poisson has a negative rate")
    wide = rate if rate.dtype == torch.float64 else rate.to(torch.float32)
    uniform = torch.rand((_DRAWS, *rate.shape), dtype=wide.dtype)
    is_large = wide >= _LARGE
    small = _by_products(torch.where(is_large, 1.0, wide), uniform)
    large = _by_rejection(torch.where(is_large, wide, _LARGE), uniform)
    return torch.where(is_large, large, small).to(rate.dtype)


def _by_products(rate: torch.Tensor, uniform: torch.Tensor) -> torch.Tensor:
    """Counts the uniform numbers until their product is less than exp(-rate) (Knuth)."""
    is_above = torch.cumprod(uniform, 0) > torch.exp(-rate)
    return is_above.to(rate.dtype).sum(0)


def _by_rejection(rate: torch.Tensor, uniform: torch.Tensor) -> torch.Tensor:
    """Returns the first accepted sample of Hörmann's transformed rejection, "PTRS"."""
    b = 0.931 + 2.53 * torch.sqrt(rate)
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    u, v = uniform.unflatten(0, (2, -1)).unbind(0)
    u = u - 0.5
    us = 0.5 - torch.abs(u)
    k = torch.floor((2 * a / us + b) * u + rate + 0.43)
    is_certain = torch.logical_and(us >= 0.07, v <= 0.9277 - 3.6224 / (b - 2))
    is_possible = torch.logical_and(k >= 0, torch.logical_or(us >= 0.013, v <= us))
    # Samples that are not possible may be infinite.
    count = torch.where(is_possible, k, 0.0)
    is_below = torch.log(v) + torch.log(inverse_alpha) - torch.log(
        a / (us * us) + b
    ) <= count * torch.log(rate) - rate - torch.lgamma(count + 1)
    is_accepted = torch.logical_or(is_certain, torch.logical_and(is_possible, is_below))
    first = torch.argmax(is_accepted.to(torch.int64), 0, keepdim=True)
    return count.gather(0, first).squeeze(0)
