"""Shape rules of recurrent layers for fake tensors.

PyTorch finds the shapes by running a decomposition, which repeats the operators of a step for every
step, and which fixes a dynamic number of steps.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any
from unittest import mock

import torch
from torch._C import DispatchKey
from torch._subclasses.fake_tensor import FakeTensor
from torch.fx.experimental.proxy_tensor import get_proxy_mode

Tensor = torch.Tensor
_aten = torch.ops.aten


@contextlib.contextmanager
def recurrent_shapes() -> Iterator[None]:
    """Makes fake tensors compute the shapes of recurrent layers inside the `with` block."""
    before: dict[torch._ops.OpOverload, dict] = {}
    for packet in (_aten.lstm, _aten.gru, _aten.rnn_tanh, _aten.rnn_relu):
        for operator, rule in ((packet.input, _of_padded), (packet.data, _of_packed)):
            before[operator] = dict(operator.py_kernels)
            for key in (DispatchKey.Autograd, DispatchKey.CompositeImplicitAutograd):
                own = operator.py_kernels[key]
                operator.py_kernels[key] = _with_rule(rule, own)
            operator._dispatch_cache.clear()
    try:
        with mock.patch.object(torch.nn.RNNBase, "check_forward_args", _check_arguments):
            yield
    finally:
        for operator, kernels in before.items():
            operator.py_kernels.update(kernels)
            operator._dispatch_cache.clear()


# The same kernels each time: `importers.decompositions.tracing` registers changed ones again.
@functools.cache
def _with_rule(rule: Callable[..., Any], values: Callable[..., Any]) -> Callable[..., Any]:
    return functools.partial(_shapes_or_values, rule, values)


_checks = torch.nn.RNNBase.check_forward_args


def _check_arguments(
    module: torch.nn.RNNBase, x: Tensor, state: Any, batch_sizes: Tensor | None
) -> None:
    """Checks the sizes as PyTorch does, but not that of the batch of a traced packed sequence.

    PyTorch reads that size from a tensor, so a program would only accept the size of the example.
    """
    if batch_sizes is None or not isinstance(batch_sizes, FakeTensor):
        _checks(module, x, state, batch_sizes)
    else:
        module.check_input(x, batch_sizes)


def _shapes_or_values(
    rule: Callable[..., Any], values: Callable[..., Any], *args: Any, **kwargs: Any
) -> Any:
    """Applies the rule to fake tensors, unless a tracer records the decomposition."""
    if isinstance(args[0], FakeTensor) and get_proxy_mode() is None:
        return rule(*args, **kwargs)
    return values(*args, **kwargs)


def _of_padded(
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
    if isinstance(x.shape[int(batch_first)], int) and x.shape[int(batch_first)] == 0:
        raise RuntimeError("Expected sequence length to be larger than 0 in RNN")
    steps, batch = (x.shape[1], x.shape[0]) if batch_first else x.shape[:2]
    return _shapes(x, (steps, batch), states, bidirectional, batch_first)


def _of_packed(
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
    return _shapes(x, x.shape[:1], states, bidirectional, False)


def _shapes(
    x: Tensor,
    outer: Sequence[int | torch.SymInt],
    states: Tensor | Sequence[Tensor],
    bidirectional: bool,
    transposed: bool,
) -> tuple[Tensor, ...]:
    states = [states] if isinstance(states, Tensor) else states
    outputs = x.new_empty((*outer, states[0].shape[-1] * (1 + bidirectional)))
    return outputs.transpose(0, 1) if transposed else outputs, *map(torch.empty_like, states)
