"""Defines shifts by counts that are negative or not less than the number of bits."""

from __future__ import annotations

from typing import Any

import torch

from importers.decompositions.numbers import as_tensor
from importers.repairs.literals import packet_of
from importers.repairs.retrace import replace_calls

aten = torch.ops.aten


def limit_shift_counts(graph: torch.fx.Graph) -> int:
    """Limits the counts of shifts, and gives eager's results for other counts; returns how many.

    LLVM leaves such shifts undefined. In eager, a left shift results in 0, and a right shift in the
    sign: 0 or -1.
    """
    replacements = {
        aten.bitwise_left_shift.Tensor: _left_shift,
        aten.bitwise_right_shift.Tensor: _right_shift,
        **dict.fromkeys((aten.__lshift__.Tensor, aten.__lshift__.Scalar), _left_shift),
        **dict.fromkeys((aten.__rshift__.Tensor, aten.__rshift__.Scalar), _right_shift),
    }
    nodes = [
        node for node in graph.nodes if node.target in replacements and not _has_valid_count(node)
    ]
    return replace_calls(graph, nodes, lambda node: replacements[node.target])


def _has_valid_count(node: torch.fx.Node) -> bool:
    count, bits = node.args[1], _bits(node.meta["val"].dtype)
    while isinstance(count, torch.fx.Node) and packet_of(count) in (aten.view, aten.unsqueeze):
        count = count.args[0]
    if isinstance(count, torch.fx.Node) and packet_of(count) in (aten.full, aten.full_like):
        count = count.args[1]
    if isinstance(count, torch.fx.Node) and count.target == aten.arange.start_step:
        # torch-mlir lowers no other shifts by tensors.
        lowers = (aten.bitwise_left_shift.Tensor, aten.bitwise_right_shift.Tensor)
        return node.target in lowers and _has_valid_counts(count.args, bits)
    return isinstance(count, int) and 0 <= count < bits


def _has_valid_counts(arange: tuple[Any, ...], bits: int) -> bool:
    """Returns whether all numbers of an `aten.arange` with these arguments are valid counts."""
    if not all(isinstance(number, int) for number in arange):
        return False
    return all(0 <= count < bits for count in (arange[0], *range(*arange)[-1:]))


def _left_shift(x: torch.Tensor, count: torch.Tensor | int) -> torch.Tensor:
    x, count = _promoted(x, count)
    valid = _is_valid(count, _bits(x.dtype))
    return torch.where(valid, torch.bitwise_left_shift(x, torch.where(valid, count, 0)), 0)


def _right_shift(x: torch.Tensor, count: torch.Tensor | int) -> torch.Tensor:
    x, count = _promoted(x, count)
    bits = _bits(x.dtype)
    valid = _is_valid(count, bits)
    if x.dtype.is_signed:
        return torch.bitwise_right_shift(x, torch.where(valid, count, bits - 1))
    return torch.where(valid, torch.bitwise_right_shift(x, torch.where(valid, count, 0)), 0)


def _promoted(x: torch.Tensor, count: torch.Tensor | int) -> tuple[torch.Tensor, torch.Tensor]:
    dtype = torch.result_type(x, count)
    return as_tensor(x, dtype), as_tensor(count, dtype)


def _is_valid(count: torch.Tensor, bits: int) -> torch.Tensor:
    return torch.logical_and(torch.ge(count, 0), torch.lt(count, bits))


def _bits(dtype: torch.dtype) -> int:
    return 8 * dtype.itemsize
