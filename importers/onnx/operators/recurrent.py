"""Lowerings of recurrent layers, with all options of ONNX."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F

from importers.loops import element, repeated
from importers.onnx.node import Node
from importers.onnx.registry import operator

Tensor = torch.Tensor
Activation = Callable[[Tensor], Tensor]
# Keyed by ONNX's names. WB and RB are the biases of the input and of the state.
Weights = dict[str, Tensor]
_DEFAULTS = {"RNN": ["Tanh"], "GRU": ["Sigmoid", "Tanh"], "LSTM": ["Sigmoid", "Tanh", "Tanh"]}


class _Cell:
    """A cell of a layer in one direction, which computes one step.

    Attributes:
        activations: in ONNX's order.
    """

    def __init__(self, node: Node, number: int):
        self.kind = node.proto.op_type
        self.node = node
        count = len(_DEFAULTS[self.kind])
        names = node.get("activations")
        names = names[number * count :][:count] if names else _DEFAULTS[self.kind]
        self.activations = [
            _activation(node, name, number * count + i) for i, name in enumerate(names)
        ]
        self.clip = node.get("clip")

    def after(self, x: Tensor, state: Sequence[Tensor], weights: Weights) -> list[Tensor]:
        """Returns the state after an input of (batch, width)."""
        step = {"RNN": self._rnn, "GRU": self._gru, "LSTM": self._lstm}[self.kind]
        return step(weights, x, *state)

    def _clipped(self, x: Tensor) -> Tensor:
        return x if self.clip is None else x.clamp(-self.clip, self.clip)

    def _rnn(self, weights: Weights, x: Tensor, hidden: Tensor) -> list[Tensor]:
        (f,) = self.activations
        return [f(self._clipped(sum(_sums(weights, x, hidden))))]

    def _gru(self, weights: Weights, x: Tensor, hidden: Tensor) -> list[Tensor]:
        f, g = self.activations
        (xz, xr, xh), (hz, hr, hh) = (each.chunk(3, -1) for each in _sums(weights, x, hidden))
        update, reset = f(self._clipped(xz + hz)), f(self._clipped(xr + hr))
        if self.node.get("linear_before_reset", 0):
            new = g(self._clipped(xh + reset * hh))
        else:
            bias = weights["RB"].chunk(3)[2] if "RB" in weights else None
            weight = weights["R"].chunk(3)[2]
            new = g(self._clipped(xh + F.linear(reset * hidden, weight, bias)))
        return [(1 - update) * new + update * hidden]

    def _lstm(self, weights: Weights, x: Tensor, hidden: Tensor, cell: Tensor) -> list[Tensor]:
        f, g, h = self.activations
        own, recurrent = _sums(weights, x, hidden)
        peepholes = weights["P"].chunk(3) if "P" in weights else None
        inputs, outputs, forget, new = (own + recurrent).chunk(4, -1)
        if peepholes is not None:
            inputs, forget = inputs + peepholes[0] * cell, forget + peepholes[2] * cell
        inputs = f(self._clipped(inputs))
        forget = 1 - inputs if self.node.get("input_forget", 0) else f(self._clipped(forget))
        cell = forget * cell + inputs * g(self._clipped(new))
        if peepholes is not None:
            outputs = outputs + peepholes[1] * cell
        return [f(self._clipped(outputs)) * h(cell), cell]


def _sums(weights: Weights, x: Tensor, hidden: Tensor) -> tuple[Tensor, Tensor]:
    own = F.linear(x, weights["W"], weights.get("WB"))
    return own, F.linear(hidden, weights["R"], weights.get("RB"))


def _weights(tensors: dict[str, Tensor | None], number: int) -> Weights:
    """Returns the weights of one direction, with the bias split into WB and RB."""
    found = {name: x[number] for name, x in tensors.items() if x is not None}
    if "B" in found:
        found["WB"], found["RB"] = found.pop("B").chunk(2)
    return found


def _activation(node: Node, name: str, number: int) -> Activation:
    alphas, betas = node.get("activation_alpha") or [], node.get("activation_beta") or []
    alpha = alphas[number] if number < len(alphas) else None
    beta = betas[number] if number < len(betas) else None

    def parameter(value: float | None, default: float) -> float:
        return default if value is None else value

    known: dict[str, Activation] = {
        "tanh": torch.tanh,
        "sigmoid": torch.sigmoid,
        "relu": torch.relu,
        "affine": lambda x: parameter(alpha, 1.0) * x + parameter(beta, 0.0),
        "leakyrelu": lambda x: F.leaky_relu(x, parameter(alpha, 0.01)),
        "thresholdedrelu": lambda x: torch.where(x > parameter(alpha, 1.0), x, 0.0),
        "scaledtanh": lambda x: parameter(alpha, 1.0) * torch.tanh(parameter(beta, 1.0) * x),
        "hardsigmoid": lambda x: (parameter(alpha, 0.2) * x + parameter(beta, 0.5)).clamp(0, 1),
        "elu": lambda x: F.elu(x, parameter(alpha, 1.0)),
        "softsign": F.softsign,
        "softplus": F.softplus,
    }
    if name.lower() not in known:
        raise node.refuse(f"with the activation {name}")
    return known[name.lower()]


@operator("RNN", "GRU")
def rnn_or_gru(
    node: Node,
    x: Tensor,
    w: Tensor,
    r: Tensor,
    b: Tensor | None = None,
    lengths: Tensor | None = None,
    hidden: Tensor | None = None,
) -> tuple[Tensor, ...]:
    """Lowers `RNN` and `GRU`."""
    return _layer(node, x, {"W": w, "R": r, "B": b}, lengths, [hidden])


@operator("LSTM")
def lstm(
    node: Node,
    x: Tensor,
    w: Tensor,
    r: Tensor,
    b: Tensor | None = None,
    lengths: Tensor | None = None,
    hidden: Tensor | None = None,
    cell: Tensor | None = None,
    p: Tensor | None = None,
) -> tuple[Tensor, ...]:
    """Lowers `LSTM`, with optional peepholes."""
    return _layer(node, x, {"W": w, "R": r, "B": b, "P": p}, lengths, [hidden, cell])


def _layer(
    node: Node,
    x: Tensor,
    tensors: dict[str, Tensor | None],
    lengths: Tensor | None,
    states: list[Tensor | None],
) -> tuple[Tensor, ...]:
    """Returns all hidden states (steps, directions, batch, hidden) and the last states."""
    batch_first = bool(node.get("layout", 0))
    if batch_first:
        x = x.transpose(0, 1)
        states = [None if s is None else s.transpose(0, 1) for s in states]
    count, hidden = tensors["W"].shape[0], tensors["R"].shape[-1]
    direction = node.get("direction", "forward")
    outputs, last = [], []
    for number in range(count):
        cell = _Cell(node, number)
        start = [
            torch.zeros((x.shape[1], hidden), dtype=x.dtype) if s is None else s[number]
            for s in states
        ]
        backwards = direction == "reverse" or number == 1
        every, final = _run(cell, x, start, lengths, backwards, _weights(tensors, number))
        outputs.append(every)
        last.append(final)
    every = torch.stack(outputs, 1)
    finals = [torch.stack(each) for each in zip(*last, strict=True)]
    if batch_first:
        every = every.permute(2, 0, 1, 3)
        finals = [each.transpose(0, 1) for each in finals]
    return every, *finals


def _run(
    cell: _Cell,
    x: Tensor,
    start: list[Tensor],
    lengths: Tensor | None,
    backwards: bool,
    weights: Weights,
) -> tuple[Tensor, list[Tensor]]:
    steps = x.shape[0]
    outside = {**weights, "x": x}
    if lengths is not None:
        outside["limits"] = lengths.to(torch.int64).reshape(-1, 1)

    def step(
        number: Tensor | int, state: Sequence[Tensor], outside: Weights
    ) -> tuple[list[Tensor], list[Tensor]]:
        place = steps - 1 - number if backwards else number
        after = cell.after(element(outside["x"], place), state, outside)
        given = after[0]
        if "limits" in outside:
            # Beyond the end of a sequence, keep the state and output 0.
            inside = place < outside["limits"]
            after = [torch.where(inside, new, old) for new, old in zip(after, state, strict=True)]
            given = torch.where(inside, given, torch.zeros_like(given))
        return after, [given]

    final, (every,) = repeated(steps, step, start, outside)
    return every.flip(0) if backwards else every, final
