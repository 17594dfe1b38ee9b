"""Arithmetic on unsigned and on 8-bit integers, in wider signed ones.

Below the torch dialect integers are signless. Several lowerings treat unsigned integers as signed,
or reject them. Lowerings of int8 crash where they convert an operand. This repair computes such
operators in a signed type that holds all values, and wraps the result to the narrow type.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.utils import _pytree as pytree

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
