"""Operators that change only how a tensor lies in memory."""

from __future__ import annotations

import torch

_AS_STRIDED = torch.ops.aten.as_strided.default


def drop_layout_only_as_strided(graph: torch.fx.Graph) -> int:
    """Removes every `as_strided` whose result has the elements of its operand, in their order.

    That is so where shape and offset are the same and the strides differ in dimensions of size 1
    only, as after `adaptive_avg_pool2d` of a channels-last tensor.
    """
    dropped = 0
    for node in list(graph.nodes):
        if node.op == "call_function" and node.target is _AS_STRIDED and _is_layout_only(node):
            operand = node.args[0]
            node.replace_all_uses_with(operand)
            graph.erase_node(node)
            dropped += 1
    return dropped


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
