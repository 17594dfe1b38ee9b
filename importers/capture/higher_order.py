"""Rewrites `scan` as a loop during decomposition, and avoids `vmap` in block masks."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Sequence

import torch
from torch._higher_order_ops.scan import scan_op
from torch.fx.experimental.proxy_tensor import ProxyTorchDispatchMode

from importers.onnx.operators.loops import element, repeated


@contextlib.contextmanager
def simpler_operators() -> Iterator[None]:
    """Makes tracing replace `scan` by simpler operators inside the `with` block."""
    rewrites = {scan_op: _scan}
    before = {operator: operator.python_key_table[ProxyTorchDispatchMode] for operator in rewrites}
    try:
        for operator, rewrite in rewrites.items():
            operator.python_key_table[ProxyTorchDispatchMode] = _traced(rewrite)
        yield
    finally:
        for operator, own in before.items():
            operator.python_key_table[ProxyTorchDispatchMode] = own


def _traced(rewrite: Callable) -> Callable:
    def trace(mode: ProxyTorchDispatchMode, *args, **kwargs):
        with mode:
            return rewrite(*args, **kwargs)

    return trace


def _scan(
    combine: Callable,
    init: Sequence[torch.Tensor],
    xs: Sequence[torch.Tensor],
    outside: Sequence[torch.Tensor],
) -> tuple[torch.Tensor, ...]:
    """Scans along the first axis. Many steps become a loop."""

    def advance(step, carried, tensors):
        sequences, rest = tensors
        parts = [element(x, step) for x in sequences]
        results = combine(*carried, *parts, *rest)
        return results[: len(init)], results[len(init) :]

    carried, rows = repeated(xs[0].shape[0], advance, init, (list(xs), list(outside)))
    return (*carried, *rows)


@contextlib.contextmanager
def block_masks_without_vmap() -> Iterator[None]:
    """Makes block masks avoid `vmap` inside the `with` block: a program cannot contain it."""
    library = sys.modules.get("torch.nn.attention.flex_attention")
    if library is None:
        yield
        return
    before = library._ordered_to_dense
    library._ordered_to_dense = _dense
    try:
        yield
    finally:
        library._ordered_to_dense = before


def _dense(counts: torch.Tensor, columns: torch.Tensor, number: int) -> torch.Tensor:
    """Returns the int32 mask of the columns that each row has.

    A row has the first `counts` entries of the last axis of `columns`; the mask has `number`
    columns.
    """
    entries = torch.arange(columns.shape[-1], dtype=torch.int32, device=columns.device)
    every = torch.arange(number, dtype=torch.int32, device=columns.device)
    is_used = entries < counts.unsqueeze(-1)
    is_there = (columns.unsqueeze(-1) == every) & is_used.unsqueeze(-1)
    return is_there.any(-2).to(torch.int32)
