"""Removes assertions about the place of a view in memory, which tensors in MLIR do not have."""

from __future__ import annotations

import operator

import torch

aten = torch.ops.aten

_OFFSET = aten.sym_storage_offset.default
_COMPARISONS = frozenset({operator.ge, operator.gt, operator.le, operator.lt})


def drop_assertions_of_offsets(graph: torch.fx.Graph) -> int:
    """Removes the assertions that an offset in memory is in a range; returns how many.

    `torch.export` adds them if a view starts at a position that depends on data.
    """
    assertions = [node for node in graph.nodes if _is_about_an_offset(node)]
    for assertion in assertions:
        condition = assertion.args[0]
        graph.erase_node(assertion)
        offset = condition.args[0]
        for node in (condition, offset):
            if not node.users:
                graph.erase_node(node)
    return len(assertions)


def _is_about_an_offset(node: torch.fx.Node) -> bool:
    if node.target is not aten._assert_scalar.default:
        return False
    condition = node.args[0]
    if not isinstance(condition, torch.fx.Node) or condition.target not in _COMPARISONS:
        return False
    offset, bound = condition.args
    return isinstance(bound, int) and getattr(offset, "target", None) is _OFFSET
