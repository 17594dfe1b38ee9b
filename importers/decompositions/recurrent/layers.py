"""Decompositions of recurrent layers into loops over the steps."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from importers.decompositions.overloads import takes_overload
from importers.decompositions.recurrent.cells import CELLS, LSTM, Cell, Weights
from importers.decompositions.recurrent.loops import run

Tensor = torch.Tensor


@takes_overload
def layers(
    overload: torch._ops.OpOverload,
    x: Tensor,
    states: Tensor | Sequence[Tensor],
    weights: Sequence[Tensor],
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
) -> tuple[Tensor, ...]:
    """Computes `aten.lstm.input` and the same operators of other cells."""
    x = x.transpose(0, 1) if batch_first else x
    states = [states] if isinstance(states, Tensor) else states
    groups = grouped(weights, has_biases, 1 + bidirectional, num_layers)
    cell = CELLS[overload.overloadpacket.__name__]
    x, finals = stack(cell, x, states, groups, dropout if train else 0.0)
    return (x.transpose(0, 1) if batch_first else x), *finals


def grouped(
    weights: Sequence[Tensor], has_biases: bool, directions: int, num_layers: int
) -> list[list[Weights]]:
    """Returns the weights by layer and direction."""
    size = len(weights) // (directions * num_layers)
    parts = (weights[i : i + size] for i in range(0, len(weights), size))
    all_ = [
        Weights(
            part[0],
            part[1],
            part[2] if has_biases else None,
            part[3] if has_biases else None,
            part[-1] if size in (3, 5) else None,
        )
        for part in parts
    ]
    return [all_[i : i + directions] for i in range(0, len(all_), directions)]


def stack(
    cell: Cell,
    x: Tensor,
    states: Sequence[Tensor],
    weights: Sequence[Sequence[Weights]],
    dropout: float,
    lengths: Tensor | None = None,
) -> tuple[Tensor, list[Tensor]]:
    """Runs all layers.

    Args:
        x: (steps, batch, width).
        states: the initial states, each (layers x directions, batch, size).
        dropout: the probability of an element to be dropped between layers.
        lengths: see `run`.

    Returns:
        The outputs of the last layer (steps, batch, directions x size), and the final states.
    """
    finals, number = [], 0
    for layer, directions in enumerate(weights):
        outputs = []
        for direction, own in enumerate(directions):
            start = [state.select(0, number) for state in states]
            every, final = run(cell, x, start, own, direction == 1, lengths)
            outputs.append(every)
            finals.append(final)
            number += 1
        x = torch.cat(outputs, -1) if len(outputs) > 1 else outputs[0]
        if dropout and layer < len(weights) - 1:
            x = torch.dropout(x, dropout, True)
    return x, [torch.stack(each) for each in zip(*finals, strict=True)]


@takes_overload
def packed_layers(
    overload: torch._ops.OpOverload,
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
    """Computes `aten.lstm.data` and the same operators of other cells.

    Pads the sequences. A step only changes the sequences that have not ended.
    """
    states = [states] if isinstance(states, Tensor) else states
    batch = states[0].shape[1]
    ends = batch_sizes.cumsum(0)
    starts = ends - batch_sizes
    padded = _padded(x, starts, batch_sizes, batch)
    groups = grouped(weights, has_biases, 1 + bidirectional, num_layers)
    cell = CELLS[overload.overloadpacket.__name__]
    outputs, finals = stack(cell, padded, states, groups, dropout if train else 0.0, batch_sizes)
    return _packed(outputs, starts, ends, x.shape[0]), *finals


def _padded(x: Tensor, starts: Tensor, batch_sizes: Tensor, batch: int) -> Tensor:
    """Returns (steps, batch, width). After the end of a sequence, rows repeat row 0 of `x`."""
    place = torch.arange(batch)
    rows = starts.unsqueeze(1) + place
    rows = torch.where(place < batch_sizes.unsqueeze(1), rows, 0)
    return x.index_select(0, rows.reshape(-1)).unflatten(0, (starts.shape[0], batch))


def _packed(x: Tensor, starts: Tensor, ends: Tensor, count: int) -> Tensor:
    """Packs x (steps, batch, width): returns the `count` rows inside sequences, (rows, width)."""
    number = torch.arange(count)
    step = (ends <= number.unsqueeze(1)).sum(1)
    place = number - starts.index_select(0, step)
    return x.flatten(0, 1).index_select(0, step * x.shape[1] + place)


def mkldnn_lstm_layer(
    x: torch.Tensor,
    input_weight: torch.Tensor,
    hidden_weight: torch.Tensor,
    input_bias: torch.Tensor,
    hidden_bias: torch.Tensor,
    hidden: torch.Tensor,
    cell: torch.Tensor,
    reverse: bool,
    batch_sizes: list[int],
    mode: int,
    hidden_size: int,
    num_layers: int,
    has_biases: bool,
    *_options: bool,
) -> tuple[torch.Tensor, ...]:
    """Computes one layer in one direction; `x` is (steps, batch, width).

    Returns:
        All hidden states (steps, batch, hidden), the last hidden and cell state, each (1, batch,
        hidden), and the workspace of the gradient, which is empty.
    """
    biases = (input_bias, hidden_bias) if has_biases else ()
    weights = Weights(input_weight, hidden_weight, *biases)
    states, last = run(LSTM, x, [hidden.squeeze(0), cell.squeeze(0)], weights, reverse)
    return states, *(each.unsqueeze(0) for each in last), x.new_empty(0)
