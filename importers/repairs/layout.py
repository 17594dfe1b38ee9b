"""Rewrites of `as_strided`, which the torch dialect cannot express."""

from __future__ import annotations

import torch

from importers.decompositions import decomposition_table
from importers.decompositions.tracing import tracing
from importers.repairs.retrace import replace_call

_AS_STRIDED = torch.ops.aten.as_strided.default
_VIEW = torch.ops.aten.view.default


def drop_layout_only_as_strided(graph: torch.fx.Graph) -> int:
    """Removes every `as_strided` that keeps the elements and their order; returns how many.

    If shape and offset are the same and strides differ only in dimensions of size 1, the operand
    replaces it. This occurs after `adaptive_avg_pool2d` of a channels-last tensor. If both tensors
    are contiguous with the same number of elements, a view replaces it. This occurs in a group norm
    with one channel per group.
    """
    replaced = 0
    for node in list(graph.nodes):
        if node.op != "call_function" or node.target is not _AS_STRIDED:
            continue
        operand = node.args[0]
        if _is_layout_only(node):
            node.replace_all_uses_with(operand)
        elif _is_view(node):
            with graph.inserting_before(node):
                view = graph.call_function(_VIEW, (operand, node.args[1]))
            view.meta = dict(node.meta)
            node.replace_all_uses_with(view)
        else:
            continue
        graph.erase_node(node)
        replaced += 1
    return replaced


def _is_view(node: torch.fx.Node) -> bool:
    operand, result = node.args[0].meta["val"], node.meta["val"]
    return (
        operand.is_contiguous()
        and result.is_contiguous()
        and operand.numel() == result.numel()
        and operand.storage_offset() == result.storage_offset()
    )


def _is_layout_only(node: torch.fx.Node) -> bool:
    operand, result = node.args[0].meta["val"], node.meta["val"]
    return (
        operand.shape == result.shape
        and operand.storage_offset() == result.storage_offset()
        and all(
            ours == theirs
            for size, ours, theirs in zip(
                operand.shape, operand.stride(), result.stride(), strict=True
            )
            if size != 1
        )
        and not any(user.op == "output" for user in node.users)
    )


def gather_strided(graph: torch.fx.Graph) -> int:
    """Replaces `as_strided` of a row-major tensor by `index_select`; returns how many.

    Tensors with another layout and dynamic sizes are left unchanged.
    """
    nodes = [node for node in graph.nodes if _is_selection(node)]
    if not nodes:
        return 0
    with tracing(graph, decomposition_table()) as table:
        for node in nodes:
            replace_call(node, _selected, table)
    return len(nodes)


def _is_selection(node: torch.fx.Node) -> bool:
    if node.op != "call_function" or node.target is not _AS_STRIDED:
        return False
    operand = node.args[0].meta["val"]
    numbers = [*operand.shape, *node.args[1], *node.args[2], *node.args[3:]]
    return (
        all(isinstance(number, int) or number is None for number in numbers)
        and operand.is_contiguous()
        and operand.storage_offset() == 0
        and operand.untyped_storage().nbytes() == operand.numel() * operand.element_size()
    )


def _selected(
    x: torch.Tensor, size: list[int], stride: list[int], offset: int | None = None
) -> torch.Tensor:
    place = torch.full((), offset or 0, dtype=torch.int64)
    for length, step in zip(size, stride, strict=True):
        place = place.unsqueeze(-1) + torch.arange(length) * step
    return x.reshape(-1).index_select(0, place.reshape(-1)).reshape(size)
