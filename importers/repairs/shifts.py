"""Defines shifts by counts that are negative or not less than the number of bits."""

from __future__ import annotations

import torch

from importers.decompositions import decomposition_table
from importers.decompositions.tracing import tracing
from importers.repairs.literals import packet_of
from importers.repairs.retrace import replace_call

aten = torch.ops.aten


def shift_by_any_count(graph: torch.fx.Graph) -> int:
    """Limits the counts of shifts, and gives eager's results for other counts; returns how many.

    LLVM leaves such shifts undefined. In eager, a left shift results in 0, and a right shift in the
    sign: 0 or -1.
    """
    replacements = {
        aten.bitwise_left_shift.Tensor: _left_shift,
        aten.bitwise_right_shift.Tensor: _right_shift,
    }
    nodes = [
        node for node in graph.nodes if node.target in replacements and not _has_valid_count(node)
    ]
    if not nodes:
        return 0
    with tracing(graph, decomposition_table()) as table:
        for node in nodes:
            replace_call(node, replacements[node.target], table)
    return len(nodes)


def _has_valid_count(node: torch.fx.Node) -> bool:
    count = node.args[1]
    if not isinstance(count, torch.fx.Node) or packet_of(count) is not aten.full:
        return False
    return isinstance(count.args[1], int) and 0 <= count.args[1] < _bits(node.meta["val"].dtype)


def _left_shift(x: torch.Tensor, count: torch.Tensor) -> torch.Tensor:
    x, count = _promoted(x, count)
    valid = _is_valid(count, _bits(x.dtype))
    return torch.where(valid, torch.bitwise_left_shift(x, torch.where(valid, count, 0)), 0)


def _right_shift(x: torch.Tensor, count: torch.Tensor) -> torch.Tensor:
    x, count = _promoted(x, count)
    bits = _bits(x.dtype)
    valid = _is_valid(count, bits)
    if x.dtype.is_signed:
        return torch.bitwise_right_shift(x, torch.where(valid, count, bits - 1))
    return torch.where(valid, torch.bitwise_right_shift(x, torch.where(valid, count, 0)), 0)


def _promoted(x: torch.Tensor, count: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    dtype = torch.result_type(x, count)
    return x.to(dtype), count.to(dtype)


def _is_valid(count: torch.Tensor, bits: int) -> torch.Tensor:
    return torch.logical_and(torch.ge(count, 0), torch.lt(count, bits))


def _bits(dtype: torch.dtype) -> int:
    return 8 * dtype.itemsize
