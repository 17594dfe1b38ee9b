"""Protects divisions of constant integers from wrong folding in torch-mlir."""

from __future__ import annotations

import torch

from importers.repairs.literals import constant_nodes, packet_of

aten = torch.ops.aten


def prevent_folding_of_quotients(graph: torch.fx.Graph) -> int:
    """Replaces constant dividends `x` by `x | x`; returns how many.

    torch-mlir lowers `x | x` and does not fold it, so the division reaches linalg.
    """
    constant = constant_nodes(graph)
    found = [node for node in constant if _divides_integers(node)]
    for node in found:
        dividend = node.args[0]
        with graph.inserting_before(node):
            same = graph.call_function(aten.bitwise_or.Tensor, (dividend, dividend))
        same.meta = {**node.meta, "val": dividend.meta["val"]}
        node.args = (same, *node.args[1:])
    return len(found)


def _divides_integers(node: torch.fx.Node) -> bool:
    value = node.meta.get("val")
    return (
        packet_of(node) in (aten.div, aten.floor_divide)
        and isinstance(value, torch.Tensor)
        and not value.is_floating_point()
    )
