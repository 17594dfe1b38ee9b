"""Replaces sums of booleans by `logical_or`."""

from __future__ import annotations

from typing import Any

import torch

from importers.decompositions import decomposition_table
from importers.decompositions.numbers import as_tensor
from importers.decompositions.tracing import tracing
from importers.repairs.literals import packet_of
from importers.repairs.retrace import replace_call


def add_booleans(graph: torch.fx.Graph) -> int:
    """Replaces `x + y` by `logical_or(x, y)` if the result is boolean; returns how many."""
    nodes = [
        node
        for node in graph.nodes
        if packet_of(node) is torch.ops.aten.add
        and isinstance(node.meta.get("val"), torch.Tensor)
        and node.meta["val"].dtype == torch.bool
    ]
    if not nodes:
        return 0
    with tracing(graph, decomposition_table()) as table:
        for node in nodes:
            replace_call(node, _either, table)
    return len(nodes)


def _either(x: Any, y: Any, alpha: Any = 1) -> torch.Tensor:
    x, y = as_tensor(x, torch.bool), as_tensor(y, torch.bool)
    return torch.logical_or(x, y) if alpha else torch.logical_or(x, torch.zeros_like(y))
