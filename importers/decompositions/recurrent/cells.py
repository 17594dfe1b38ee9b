"""The cells of recurrent layers. A cell computes one step from the products of its input."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

Tensor = torch.Tensor


@dataclass(frozen=True)
class Weights:
    """The weights of one layer in one direction.

    Attributes:
        own: of the input, (gates x hidden, width).
        recurrent: of the hidden state, (gates x hidden, outputs).
        own_bias, recurrent_bias: (gates x hidden), or None.
        projection: (outputs, hidden), or None; only an LSTM has one.
    """

    own: Tensor
    recurrent: Tensor
    own_bias: Tensor | None = None
    recurrent_bias: Tensor | None = None
    projection: Tensor | None = None


# (products of the input, state, constants) -> new state, whose first value is the output.
Advance = Callable[[Tensor, Sequence[Tensor], Sequence[Tensor]], Sequence[Tensor]]


@dataclass(frozen=True)
class Cell:
    """A kind of cell.

    Attributes:
        advance: computes one step.
        outside: returns the bias that is added to the products of all inputs before the loop, and
            the constants of `advance`.
    """

    advance: Advance
    outside: Callable[[Weights], tuple[Tensor | None, list[Tensor]]]


def _columns(weight: Tensor) -> Tensor:
    """Returns a weight (outputs, inputs) transposed, in row-major order, for products in a loop."""
    return weight.t().clone(memory_format=torch.contiguous_format)


def _both_biases(weights: Weights) -> Tensor | None:
    if weights.own_bias is None:
        return None
    return weights.own_bias + weights.recurrent_bias


def _plain_constants(weights: Weights) -> tuple[Tensor | None, list[Tensor]]:
    return _both_biases(weights), [_columns(weights.recurrent)]


def _lstm_constants(weights: Weights) -> tuple[Tensor | None, list[Tensor]]:
    projection = [] if weights.projection is None else [_columns(weights.projection)]
    return _both_biases(weights), [_columns(weights.recurrent), *projection]


def _gru_constants(weights: Weights) -> tuple[Tensor | None, list[Tensor]]:
    """Returns the bias outside of the loop, and the constants.

    The new gate's recurrent bias stays in the loop, where the reset gate multiplies it.
    """
    bias = weights.recurrent_bias
    if bias is None:
        return None, [_columns(weights.recurrent)]
    size = bias.shape[0] // 3
    outside = torch.cat([bias[: 2 * size], torch.zeros_like(bias[:size])])
    return weights.own_bias + outside, [_columns(weights.recurrent), bias[2 * size :].clone()]


def _rnn(activation: Callable[[Tensor], Tensor]) -> Cell:
    def advance(
        own: Tensor, state: Sequence[Tensor], constants: Sequence[Tensor]
    ) -> Sequence[Tensor]:
        return [activation(state[0] @ constants[0] + own)]

    return Cell(advance, _plain_constants)


def _lstm_step(
    own: Tensor, state: Sequence[Tensor], constants: Sequence[Tensor]
) -> Sequence[Tensor]:
    hidden, cell = state
    inputs, forget, new, outputs = (hidden @ constants[0] + own).chunk(4, -1)
    cell = forget.sigmoid() * cell + inputs.sigmoid() * new.tanh()
    hidden = outputs.sigmoid() * cell.tanh()
    return [hidden if len(constants) == 1 else hidden @ constants[1], cell]


def _gru_step(
    own: Tensor, state: Sequence[Tensor], constants: Sequence[Tensor]
) -> Sequence[Tensor]:
    (hidden,) = state
    reset, update, new = own.chunk(3, -1)
    products = (hidden @ constants[0]).chunk(3, -1)
    reset, update = (reset + products[0]).sigmoid(), (update + products[1]).sigmoid()
    recurrent = products[2] if len(constants) == 1 else products[2] + constants[1]
    new = (new + recurrent * reset).tanh()
    return [(hidden - new) * update + new]


LSTM = Cell(_lstm_step, _lstm_constants)
# By operator.
CELLS = {
    "lstm": LSTM,
    "gru": Cell(_gru_step, _gru_constants),
    "rnn_tanh": _rnn(torch.tanh),
    "rnn_relu": _rnn(torch.relu),
}
