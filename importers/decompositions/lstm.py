"""LSTM layers in PyTorch's form for CPUs."""

from __future__ import annotations

import torch

from importers.decompositions.recurrent.cells import LSTM, Weights
from importers.decompositions.recurrent.loops import run


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
