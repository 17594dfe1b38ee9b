"""Operators on counts and classes, with checks of their values."""

from __future__ import annotations

from typing import Any

import torch

from importers.decompositions.assertions import require

# The maximum size of a result along an axis. A larger result would not fit into any memory.
_MOST = 2**40


def _size(size: torch.Tensor, least: int) -> int:
    """Returns a 0-d i64 `size` as a number, after a check that it is not too large.

    A size that is too large becomes `least`: a runner may allocate memory before the check ends the
    call, and the number of bytes would wrap around.
    """
    fits = torch.le(size, _MOST)
    require(fits, "the result is too large for any memory")
    number = torch.where(fits, size, least).item()
    torch._check(number >= least)
    return number


def one_hot(classes: torch.Tensor, num_classes: int = -1) -> Any:
    """Returns i64 (*classes.shape, num_classes), with 1 at each class.

    Without `num_classes`, their number is the largest class plus 1. Returns NotImplemented if
    `num_classes` is another number less than 1 or not known at capture.
    """
    if not isinstance(num_classes, int) or num_classes < -1 or num_classes == 0:
        return NotImplemented
    inside = torch.ge(classes, 0)
    if num_classes == -1:
        require(inside, "one_hot has a negative class")
        # Clamp before the addition, which could overflow otherwise.
        num_classes = _size(classes.amax().clamp(max=_MOST) + 1, 1)
    else:
        inside = torch.logical_and(inside, torch.lt(classes, num_classes))
        require(inside, f"one_hot has a class that is not from 0 to {num_classes - 1}")
    return torch.eq(classes.unsqueeze(-1), torch.arange(num_classes)).to(torch.int64)


def repeat_interleave(counts: torch.Tensor, *, output_size: int | None = None) -> Any:
    """Returns each index of `counts` as often as its count says, after checks of the counts.

    Keeps the call if `output_size` is given, after a check that the counts add up to it.
    """
    require(torch.ge(counts, 0), "repeat_interleave has a negative count")
    if output_size is not None:
        require(
            torch.eq(counts.sum(), output_size),
            "repeat_interleave has counts that do not add up to its output_size",
        )
        return NotImplemented
    ends = counts.to(torch.int64).cumsum(0)
    size = _size(ends[-1:].sum(), 0)
    return (torch.arange(size).unsqueeze(1) >= ends).sum(1).to(counts.dtype)


def bincount(
    x: torch.Tensor, weights: torch.Tensor | None = None, minlength: int = 0
) -> torch.Tensor:
    """Counts each number from 0 to the largest of `x`, or sums its weights.

    The result has at least `minlength` elements. Its dtype is i64 without weights, f32 for f32
    weights, and f64 for other weights.
    """
    require(torch.ge(x, 0), "bincount has a negative number")
    dtype = torch.int64
    if weights is not None:
        dtype = torch.float32 if weights.dtype == torch.float32 else torch.float64
    if x.shape[0] == 0:
        return torch.zeros((minlength,), dtype=dtype)
    largest = x.to(torch.int64).amax().clamp(max=_MOST)
    size = _size((largest + 1).clamp(min=minlength), minlength)
    amounts = torch.ones_like(x, dtype=dtype) if weights is None else weights.to(dtype)
    return torch.zeros((size,), dtype=dtype).scatter_add(0, x.to(torch.int64), amounts)
