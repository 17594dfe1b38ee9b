"""Operators that change only how a tensor lies in memory."""

from __future__ import annotations

import torch

_AS_STRIDED = torch.ops.aten.as_strided.default
_VIEW = torch.ops.aten.view.default


def drop_layout_only_as_strided(graph: torch.fx.Graph) -> int:
    """Replaces every `as_strided` whose result has the elements of its operand, in their order.

    That is so where shape and offset are the same and the strides differ in dimensions of size 1
    only, as after `adaptive_avg_pool2d` of a channels-last tensor; and where both lie in memory
    without gaps and have as many elements, as in a group norm with one channel in each group,
    which becomes a view.
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
