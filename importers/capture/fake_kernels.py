"""Fixes shape rules of PyTorch's fake tensors that are wrong or missing."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch
from torch._C import DispatchKey
from torch._subclasses.fake_impls import op_implementations_dict

from importers.capture.recurrent_shapes import recurrent_shapes
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
