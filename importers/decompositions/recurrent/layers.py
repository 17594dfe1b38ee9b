"""Decomposes `aten.lstm`, `gru`, `rnn_tanh` and `rnn_relu` into loops over the steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from importers.decompositions.recurrent.cells import Cell, Weights
from importers.decompositions.recurrent.loops import run

Tensor = torch.Tensor


def layers(cell: Cell) -> Callable[..., Any]:
    """Returns the decomposition of `aten.KIND.input` for a kind of cell."""

    def decomposition(
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
        x = x.transpose(0, 1) if batch_first else x
        states = [states] if isinstance(states, Tensor) else states
        groups = grouped(weights, has_biases, 1 + bidirectional, num_layers)
        x, finals = stack(cell, x, states, groups, dropout if train else 0.0)
        return (x.transpose(0, 1) if batch_first else x), *finals

    return decomposition


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
