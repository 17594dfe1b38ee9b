"""Random samples, computed from uniform or normal samples.

Samples of Poisson distributions are computed by eager's methods, with a fixed number of draws.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch

from importers.decompositions.assertions import require, require_category_weights
from importers.decompositions.numbers import REDUCED_FLOATS


def multinomial(
    weights: torch.Tensor,
    num_samples: int,
    replacement: bool = False,
    generator: torch.Generator | None = None,
) -> torch.Tensor:
    """Returns indices that are drawn with the given weights.

    Args:
        weights: (categories) or (rows, categories), not negative; they need not add up to 1.
        num_samples: the number of samples in each row; without `replacement`, none occurs twice.

    Returns:
        i64, (num_samples) or (rows, num_samples).
    """
    require_category_weights(weights)
    weights = weights.to(torch.float32)
    if replacement and num_samples != 1:
        return _drawn_with_replacement(weights, num_samples)
    # Draw an exponential waiting time for each category, with its weight as the rate. The
    # categories with the shortest times are the sample.
    waits = -torch.log1p(-torch.rand(weights.shape))
    speed = weights / waits.clamp(min=torch.finfo(torch.float32).tiny)
    if num_samples == 1:
        return torch.argmax(speed, -1, keepdim=True)
    return torch.topk(speed, num_samples, -1).indices


def _drawn_with_replacement(weights: torch.Tensor, num_samples: int) -> torch.Tensor:
    ends = torch.cumsum(weights, -1)
    points = torch.rand((*weights.shape[:-1], num_samples)) * ends[..., -1:]
    # A category of weight 0 has an empty interval, so no point selects it.
    return (points.unsqueeze(-1) >= ends.unsqueeze(-2)).sum(-1)


def permutation(n: int, **options: Any) -> torch.Tensor:
    """Returns the integers below `n`, in random order."""
    order = torch.sort(torch.rand(n), stable=True).indices
    return order.to(options.get("dtype") or torch.int64)


def normal(mean: Any, std: Any = 1.0, generator: torch.Generator | None = None) -> torch.Tensor:
    """Returns normal samples, one for each element of `mean` or `std`.

    At least one of the two is a tensor.
    """
    like = mean + torch.zeros_like(std) if isinstance(std, torch.Tensor) else mean
    return torch.randn_like(like) * std + mean


def narrow_normal(size: Sequence[int], **options: Any) -> torch.Tensor:
    """Returns f16 or bf16 normal samples, drawn in f32; NotImplemented for other dtypes."""
    dtype = options.get("dtype") or torch.get_default_dtype()
    if dtype not in REDUCED_FLOATS:
        return NotImplemented
    return torch.randn(size, dtype=torch.float32).to(dtype)


def narrow_normal_like(x: torch.Tensor, **options: Any) -> torch.Tensor:
    """Returns `narrow_normal` in the shape of `x`, by default in its type."""
    return narrow_normal(x.shape, dtype=options.get("dtype") or x.dtype)


def narrow_uniform(size: Sequence[int], **options: Any) -> torch.Tensor:
    """Returns f16 or bf16 samples from 0 to 1, without 1; NotImplemented for other dtypes.

    Samples are multiples of half the distance between 1 and the next number, so that none is
    rounded to 1.
    """
    dtype = options.get("dtype") or torch.get_default_dtype()
    if dtype not in REDUCED_FLOATS:
        return NotImplemented
    steps = 2 / torch.finfo(dtype).eps
    step = torch.floor(torch.rand(size, dtype=torch.float32) * steps).clamp(max=steps - 1)
    return (step / steps).to(dtype)


def narrow_uniform_like(x: torch.Tensor, **options: Any) -> torch.Tensor:
    """Returns `narrow_uniform` in the shape of `x`, by default in its type."""
    return narrow_uniform(x.shape, dtype=options.get("dtype") or x.dtype)


def narrow_normal_in_place(
    x: torch.Tensor, mean: float = 0, std: float = 1, generator: torch.Generator | None = None
) -> torch.Tensor:
    """Returns f16 or bf16 normal samples, drawn in f32, as `x` in shape and type."""
    if x.dtype not in REDUCED_FLOATS:
        return NotImplemented
    return (torch.randn(x.shape, dtype=torch.float32) * std + mean).to(x.dtype)


def narrow_uniform_in_place(
    x: torch.Tensor, low: float = 0, high: float = 1, generator: torch.Generator | None = None
) -> torch.Tensor:
    """Returns f16 or bf16 samples from `low` to `high`, as `x` in shape and type."""
    if x.dtype not in REDUCED_FLOATS:
        return NotImplemented
    samples = narrow_uniform(x.shape, dtype=x.dtype).to(torch.float32)
    return (samples * (high - low) + low).to(x.dtype)


def narrow_exponential(
    x: torch.Tensor, lambd: float = 1, generator: torch.Generator | None = None
) -> torch.Tensor:
    """Returns f16 or bf16 exponential samples, drawn in f32, as `x` in shape and type."""
    if x.dtype not in REDUCED_FLOATS:
        return NotImplemented
    return torch.ops.aten.exponential(x.to(torch.float32), lambd).to(x.dtype)


def cauchy(
    x: torch.Tensor,
    median: float = 0,
    sigma: float = 1,
    generator: torch.Generator | None = None,
) -> torch.Tensor:
    """Returns Cauchy samples, as `x` in shape and type, by the inverse of the distribution."""
    return torch.tan(math.pi * (torch.rand_like(x) - 0.5)) * sigma + median


def geometric(x: torch.Tensor, p: float, generator: torch.Generator | None = None) -> torch.Tensor:
    """Returns trials of the first success with probability `p`, as `x` in shape and type."""
    samples = torch.rand(x.shape, dtype=x.dtype if x.is_floating_point() else None)
    return (torch.floor(torch.log1p(-samples) * (1 / math.log1p(-p))) + 1).to(x.dtype)


def log_normal(
    x: torch.Tensor, mean: float = 1, std: float = 2, generator: torch.Generator | None = None
) -> torch.Tensor:
    """Returns numbers whose logarithms are normal, as `x` in shape and type."""
    return torch.exp(torch.randn_like(x) * std + mean)


def integers_below(x: torch.Tensor, high: int, **options: Any) -> torch.Tensor:
    """Returns integers from 0 to `high` - 1 in the shape of `x`, by default in its type."""
    return integers_between(x, 0, high, **options)


def integers_between(x: torch.Tensor, low: int, high: int, **options: Any) -> torch.Tensor:
    """Returns integers from `low` to `high` - 1 in the shape of `x`, by default in its type."""
    return torch.randint(low, high, x.shape).to(options.get("dtype") or x.dtype)


def integers(low: int, high: int, size: list[int], **options: Any) -> torch.Tensor:
    """Returns integers from `low` to `high` - 1, drawn from 0 on and then shifted."""
    return torch.ops.aten.randint.default(high - low, size, **options) + low


def integers_of_other_dtypes(high: int, size: list[int], **options: Any) -> torch.Tensor:
    """Returns integers from 0 to `high` - 1, drawn in int64 and converted to another dtype.

    Returns NotImplemented if the dtype is int64.
    """
    dtype = options.pop("dtype", None)
    if dtype in (None, torch.int64):
        return NotImplemented
    return torch.ops.aten.randint.default(high, size, **options).to(dtype)


def normal_of_numbers(
    mean: float,
    std: float,
    size: list[int],
    generator: torch.Generator | None = None,
    **options: Any,
) -> torch.Tensor:
    """Returns normal samples; both parts of complex samples have the mean `mean`."""
    samples = torch.randn(size, **options) * std
    return samples + (complex(mean, mean) if samples.is_complex() else mean)


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
