"""Removes operators without effect: no elements, or a choice between equal tensors."""

from __future__ import annotations

import torch

from importers.decompositions.tracing import origin_of
from importers.repairs.retrace import replace_calls

aten = torch.ops.aten

_EMPTY = aten.empty.memory_format
# Operators that change elements of their first argument. The number of elements of the third one is
# the number of writes.
_WRITES = frozenset(
    {
        *(aten.index_put.default, aten.scatter.src, aten.scatter.value, aten.scatter.reduce),
        *(aten.scatter.value_reduce, aten.scatter_add.default, aten.scatter_reduce.two),
    }
)
_PRODUCTS = frozenset({aten.mm.default, aten.bmm.default})
_WHERE = aten.where.self
_VIEWS = (aten.view.default, aten._unsafe_view.default)


def fold_empty_results(graph: torch.fx.Graph) -> int:
    """Replaces operators whose only result has no elements by `empty`, and drops empty writes.

    Returns the number of operators replaced. All sizes of a result must be statically known; for
    views, a single size of 0 is enough.
    """
    replaced = 0
    for node in list(graph.nodes):
        if node.target in _WRITES and _has_no_elements(node.args[2].meta["val"]):
            node.replace_all_uses_with(node.args[0])
            graph.erase_node(node)
            replaced += 1
            continue
        if node.op != "call_function" or node.target is _EMPTY or not _is_empty(node):
            continue
        value = node.meta["val"]
        sizes = list(value.shape)
        if node.target in _VIEWS:
            # A size of -1 is never symbolic here: eager refuses it beside a 0.
            given = zip(sizes, node.args[1], strict=True)
            sizes = [known if isinstance(known, int) else size for known, size in given]
        with graph.inserting_before(node):
            nothing = graph.call_function(
                _EMPTY, (sizes,), {"dtype": value.dtype, "device": value.device}
            )
        nothing.meta = {"val": value, **origin_of(node)}
        node.replace_all_uses_with(nothing)
        graph.erase_node(node)
        replaced += 1
    return replaced


def fold_empty_products(graph: torch.fx.Graph) -> int:
    """Replaces matrix products with an inner size of 0 by zeros; returns how many.

    Only sizes that are statically known count.
    """
    nodes = [n for n in graph.nodes if n.target in _PRODUCTS and _has_no_elements_to_sum(n)]
    return replace_calls(graph, nodes, lambda _: _zeros)


def _has_no_elements_to_sum(product: torch.fx.Node) -> bool:
    inner = product.args[0].meta["val"].shape[-1]
    return isinstance(inner, int) and inner == 0


def _zeros(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    return left.new_zeros((*left.shape[:-1], right.shape[-1]))


def _is_empty(node: torch.fx.Node) -> bool:
    value = node.meta.get("val")
    if not isinstance(value, torch.Tensor) or not isinstance(node.target, torch._ops.OpOverload):
        return False
    # The importer does not write complex types for `empty`.
    if value.is_complex():
        return False
    if node.target in _VIEWS:
        return any(isinstance(size, int) and size == 0 for size in value.shape)
    return _has_no_elements(value)


def _has_no_elements(value: torch.Tensor) -> bool:
    return all(isinstance(size, int) for size in value.shape) and 0 in value.shape


def fold_identical_where(graph: torch.fx.Graph) -> int:
    """Replaces `where(condition, x, x)` by a broadcast copy of `x`; returns how many."""
    nodes = [node for node in graph.nodes if node.target is _WHERE and node.args[1] is node.args[2]]
    return replace_calls(graph, nodes, lambda _: _broadcast)


def _broadcast(condition: torch.Tensor, x: torch.Tensor, _same: torch.Tensor) -> torch.Tensor:
    return x.expand(torch.broadcast_shapes(condition.shape, x.shape)).clone()
