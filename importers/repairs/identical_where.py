"""Replaces `where` nodes whose two choices are the same tensor."""

from __future__ import annotations

import torch

from importers.decompositions import decomposition_table
from importers.decompositions.tracing import tracing
from importers.repairs.retrace import replace_call

_WHERE = torch.ops.aten.where.self


def fold_identical_where(graph: torch.fx.Graph) -> int:
    """Replaces `where(condition, x, x)` by a broadcast copy of `x`; returns how many."""
    nodes = [node for node in graph.nodes if node.target is _WHERE and node.args[1] is node.args[2]]
    if not nodes:
        return 0
    with tracing(graph, decomposition_table()) as table:
        for node in nodes:
            replace_call(node, _broadcast, table)
    return len(nodes)


def _broadcast(condition: torch.Tensor, x: torch.Tensor, _same: torch.Tensor) -> torch.Tensor:
    return x.expand(torch.broadcast_shapes(condition.shape, x.shape)).clone()
