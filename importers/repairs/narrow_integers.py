"""Arithmetic on narrow integers in wider ones, and shifts by any count.

Below the torch dialect integers are signless. Several lowerings treat unsigned integers as signed,
or reject them. Lowerings of int8 crash where they convert an operand. This repair computes such
operators in a signed type that holds all values, and wraps the result to the narrow type.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.utils import _pytree as pytree

from importers.decompositions.numbers import as_tensor
from importers.repairs.literals import packet_of
from importers.repairs.retrace import replace_calls

aten = torch.ops.aten

_WIDER = {
    torch.uint8: torch.int32,
    torch.int8: torch.int32,
    torch.uint16: torch.int32,
    torch.uint32: torch.int64,
}

# These only move or convert elements, and lower correctly.
_AS_THEY_ARE = frozenset(
    {
        *(aten.view, aten._unsafe_view, aten.expand, aten.permute, aten.transpose, aten.t),
        *(aten.unsqueeze, aten.squeeze, aten.select, aten.slice, aten.clone, aten.detach),
        *(aten.alias, aten.index_select, aten.gather, aten.index, aten.split, aten.unbind),
        *(aten.split_with_sizes, aten.repeat, aten.cat, aten._to_copy, aten.flip),
        torch.ops.prims.convert_element_type,
    }
)
# Quantized products are recognized by the dtype of their operands, so they must keep it.
_OF_8_BITS = frozenset({aten.mm, aten.bmm, aten.matmul, aten.convolution})


def compute_in_wider_integers(graph: torch.fx.Graph) -> int:
    """Rewrites operators that compute with narrow integers; returns how many there were."""
    nodes = [node for node in graph.nodes if _computes_narrow(node)]
    return replace_calls(graph, nodes, _widened)


def _computes_narrow(node: torch.fx.Node) -> bool:
    if node.op != "call_function" or not isinstance(node.target, torch._ops.OpOverload):
        return False
    if node.target.is_view or node.target.overloadpacket in _AS_THEY_ARE | _OF_8_BITS:
        return False
    if node.target.namespace in ("quantized_decomposed", "unmess"):
        return False
    values = [node.meta.get("val"), [operand.meta.get("val") for operand in node.all_input_nodes]]
    return any(
        isinstance(value, torch.Tensor) and value.dtype in _WIDER
        for value in pytree.tree_leaves(values)
    )


def _widened(node: torch.fx.Node):
    target, expected = node.target, node.meta["val"]

    def call(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = pytree.tree_map(_wide, (args, kwargs))
        result = target(*args, **kwargs)
        return pytree.tree_map(_narrow, result, expected)

    return call


def _wide(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.to(_WIDER[value.dtype]) if value.dtype in _WIDER else value
    return _WIDER.get(value, value) if isinstance(value, torch.dtype) else value


def _narrow(value: Any, like: Any) -> Any:
    if not isinstance(value, torch.Tensor) or value.dtype == like.dtype:
        return value
    if like.dtype in _WIDER and not (like.dtype.is_signed or value.is_floating_point()):
        value = value & torch.iinfo(like.dtype).max
    return value.to(like.dtype)


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
