"""Decomposes recurrent layers over packed sequences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from importers.decompositions.recurrent.cells import Cell
from importers.decompositions.recurrent.layers import grouped, stack

Tensor = torch.Tensor


def packed_layers(cell: Cell) -> Callable[..., Any]:
    """Returns the decomposition of `aten.KIND.data` for a kind of cell.

    It pads the sequences, and the steps only change those that have not ended.
    """

    def decomposition(
        x: Tensor,
        batch_sizes: Tensor,
        states: Tensor | Sequence[Tensor],
        weights: Sequence[Tensor],
        has_biases: bool,
        num_layers: int,
        dropout: float,
        train: bool,
        bidirectional: bool,
    ) -> tuple[Tensor, ...]:
        states = [states] if isinstance(states, Tensor) else states
        batch = states[0].shape[1]
        ends = batch_sizes.cumsum(0)
        starts = ends - batch_sizes
        padded = _padded(x, starts, batch_sizes, batch)
        groups = grouped(weights, has_biases, 1 + bidirectional, num_layers)
        outputs, finals = stack(
            cell, padded, states, groups, dropout if train else 0.0, batch_sizes
        )
        return _packed(outputs, starts, ends, x.shape[0]), *finals

    return decomposition


def _padded(x: Tensor, starts: Tensor, batch_sizes: Tensor, batch: int) -> Tensor:
    """Returns (steps, batch, width). Where a sequence has ended, a row repeats the first one."""
    place = torch.arange(batch)
    rows = starts.unsqueeze(1) + place
    rows = torch.where(place < batch_sizes.unsqueeze(1), rows, 0)
    return x.index_select(0, rows.reshape(-1)).unflatten(0, (starts.shape[0], batch))


def _packed(x: Tensor, starts: Tensor, ends: Tensor, count: int) -> Tensor:
    """Returns the `count` rows (rows, width) of x (steps, batch, width) that are packed."""
    number = torch.arange(count)
    step = (ends <= number.unsqueeze(1)).sum(1)
    place = number - starts.index_select(0, step)
    return x.flatten(0, 1).index_select(0, step * x.shape[1] + place)
