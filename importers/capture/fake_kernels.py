"""Fixes shape rules of PyTorch's fake tensors that are wrong, missing or slow.

For recurrent layers, PyTorch finds the shapes by running a decomposition, which repeats the
operators of a step for every step, and which fixes a dynamic number of steps.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any
from unittest import mock

import torch
from torch._C import DispatchKey
from torch._subclasses.fake_impls import op_implementations_dict
from torch._subclasses.fake_tensor import FakeTensor
from torch.fx.experimental.proxy_tensor import get_proxy_mode

from importers.decompositions.counts import one_hot
from importers.decompositions.indexing import take_along_dim
from importers.decompositions.linear_algebra.least_squares import lstsq_shapes

_aten = torch.ops.aten


@contextlib.contextmanager
def corrected_fake_kernels() -> Iterator[None]:
    """Makes fake tensors compute correct sizes inside the `with` block."""
    rules = {
        operator: op_implementations_dict[operator]
        for operator in (_aten.masked_select.default, _aten.nonzero.default)
    }

    def masked_select(fake_mode: Any, func: Any, x: torch.Tensor, mask: torch.Tensor) -> Any:
        # The operator broadcasts its operands. PyTorch's rule uses the size of the first operand
        # as the upper bound and ignores the mask.
        return rules[func](fake_mode, func, torch.broadcast_tensors(x, mask)[0], mask)

    def nonzero(fake_mode: Any, func: Any, x: torch.Tensor) -> Any:
        # When PyTorch traces a program again, it does not rename a size whose upper bound is 1.
        if x.numel() == 1 and x.nonzero_memo is None:
            x.nonzero_memo = rules[func](fake_mode, func, x.reshape(1).expand(2)).shape[0]
        return rules[func](fake_mode, func, x)

    def lstsq(fake_mode: Any, _func: Any, *args: Any, **kwargs: Any) -> Any:
        # PyTorch has no rule. With some drivers, the size of the residuals depends on the rank;
        # the decomposition checks that the rank is full.
        with fake_mode:
            return lstsq_shapes(*args, **kwargs)

    op_implementations_dict[_aten.masked_select.default] = masked_select
    op_implementations_dict[_aten.nonzero.default] = nonzero
    op_implementations_dict[_aten.linalg_lstsq.default] = lstsq
    try:
        with (
            recurrent_shapes(),
            _composite(_aten.take_along_dim.default, take_along_dim),
            _composite(_aten.one_hot.default, _one_hot),
        ):
            yield
    finally:
        op_implementations_dict.update(rules)
        del op_implementations_dict[_aten.linalg_lstsq.default]


def _one_hot(classes: torch.Tensor, num_classes: int = -1) -> torch.Tensor:
    # PyTorch's own decomposition reads the number of classes as a Python number.
    if num_classes == -1:
        return one_hot(classes)
    operator = _aten.one_hot.default
    return operator._op_dk(DispatchKey.CompositeImplicitAutograd, classes, num_classes)


@contextlib.contextmanager
def _composite(operator: torch._ops.OpOverload, function: Any) -> Iterator[None]:
    """Decomposes `operator` by `function` inside the `with` block."""
    operator.py_kernels[DispatchKey.CompositeImplicitAutograd] = function
    operator._dispatch_cache.clear()
    try:
        yield
    finally:
        del operator.py_kernels[DispatchKey.CompositeImplicitAutograd]
        operator._dispatch_cache.clear()


Tensor = torch.Tensor


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


# Cached, because `importers.decompositions.tracing` registers changed kernels again.
@functools.cache
def _with_rule(rule: Callable[..., Any], values: Callable[..., Any]) -> Callable[..., Any]:
    return functools.partial(_shapes_or_values, rule, values)


_checks = torch.nn.RNNBase.check_forward_args


def _check_arguments(
    module: torch.nn.RNNBase, x: Tensor, state: Any, batch_sizes: Tensor | None
) -> None:
    """Checks the sizes as PyTorch does, but not those of the state of a traced packed sequence.

    PyTorch reads the batch size from a tensor, so a program would only accept the example's size.
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
