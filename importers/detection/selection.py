"""Selects the largest of many values without a quadratic sort.

The sort of torch-mlir's `tm_tensor` and IREE compares all pairs of values. The 600,000 scores of
one level of RetinaNet would take hours. Here only the selected values are sorted.
"""

from __future__ import annotations

import torch
from torch._higher_order_ops.while_loop import while_loop

# Up to this size, comparing each pair of values is cheaper than selecting first.
_SMALL = 256
_HALVINGS = 64


def top(values: torch.Tensor, count: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns the `count` largest values of each row, in descending order. Ties keep their order.

    Args:
        values: f32 `[..., n]`, n at least `count`, finite.

    Returns:
        Values f32 and indices i64, both `[..., count]`.
    """
    if values.shape[-1] <= max(_SMALL, count):
        order = _descending(values)[..., :count]
        return values.gather(-1, order), order
    chosen = _positions(_largest(values, count), count)
    picked = values.gather(-1, chosen)
    order = _descending(picked)
    return picked.gather(-1, order), chosen.gather(-1, order)


def _descending(values: torch.Tensor) -> torch.Tensor:
    """Returns the i64 indices `[..., n]` that sort each row in descending order, stable."""
    mine, other = values.unsqueeze(-1), values.unsqueeze(-2)
    place = torch.arange(values.shape[-1])
    before = (other > mine) | ((other == mine) & (place[None, :] < place[:, None]))
    rank = before.to(torch.int64).sum(-1)
    # The inverse permutation: which index has rank 0, 1, 2, …
    return ((rank.unsqueeze(-2) == place[:, None]).to(torch.int64) * place).sum(-1)


def _largest(values: torch.Tensor, count: int) -> torch.Tensor:
    """Returns the mask of the `count` largest values of each row; of equal values, the first."""
    low, high = _bracket(values, count)
    above = values >= high
    at = (values >= low) & ~above
    room = count - above.to(torch.int64).sum(-1, keepdim=True)
    return above | (at & (at.to(torch.int64).cumsum(-1) <= room))


def _bracket(values: torch.Tensor, count: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns bounds around the `count`-th largest value of each row.

    At least `count` values reach the low bound, and fewer reach the high one. Bisection ends at
    neighboring floats, unless the value is below 2⁻⁴⁰ of the row's range.
    """

    def more(step, _low, _high):
        return step < _HALVINGS

    def halve(step, low, high):
        middle = 0.5 * low + 0.5 * high
        enough = (values >= middle).to(torch.int64).sum(-1, keepdim=True) >= count
        return step + 1, torch.where(enough, middle, low), torch.where(enough, high, middle)

    low, largest = values.amin(-1, keepdim=True), values.amax(-1, keepdim=True)
    high = largest + (largest - low) + 1
    start = torch.zeros((), dtype=torch.int64)
    return while_loop(more, halve, (start, low, high))[1:]


def _positions(chosen: torch.Tensor, count: int) -> torch.Tensor:
    """Returns the indices at which each row of `chosen` is true, i64 `[..., count]`, ascending."""
    size = chosen.shape[-1]
    reached = chosen.to(torch.int64).cumsum(-1)
    wanted = torch.arange(1, count + 1)
    halvings = (size - 1).bit_length() + 1

    def more(step, _low, _stride):
        return step < halvings

    # Binary search for the first index at which the running count reaches the wanted number.
    def advance(step, low, stride):
        probe = low + (stride - 1)
        behind = (probe < size) & (reached.gather(-1, probe.clamp(max=size - 1)) < wanted)
        return step + 1, torch.where(behind, low + stride, low), stride // 2

    low = torch.zeros((*chosen.shape[:-1], count), dtype=torch.int64)
    stride = torch.full((), 2 ** (halvings - 1), dtype=torch.int64)
    return while_loop(more, advance, (torch.zeros((), dtype=torch.int64), low, stride))[1]
