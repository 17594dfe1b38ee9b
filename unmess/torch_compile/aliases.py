"""Computes outputs that are views of inputs, or of other outputs, outside of a compiled graph.

AOTAutograd restores such an output from its base, with the strides and the offset of the tensor
that the graph returns. A compiled program returns a tensor of its own, whose strides may differ.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.utils import _pytree as pytree


def separate_views(
    graph_module: torch.fx.GraphModule,
) -> tuple[torch.fx.GraphModule, torch.fx.GraphModule | None]:
    """Divides a functional graph into one to compile, and one that computes views.

    Args:
        graph_module: a graph with fake tensors and one flat sequence of outputs; not changed.

    Returns:
        Two graphs. The first one has no outputs that are views of an input or of another output. It
        returns the values that these views read, and the other outputs. The second one takes the
        results of the first one, and returns all outputs; None if there are no such views.
    """
    graph = graph_module.graph
    results = list(graph.output_node().args[0])
    views = _aliases(graph, results)
    if not views:
        return graph_module, None
    chain, read = _chains(graph, views)
    others = [each for each in results if each not in views and each not in read]
    later = torch.fx.Graph()
    known = {node: later.placeholder(node.name) for node in read}
    given = iter([later.placeholder(f"result_{index}") for index in range(len(others))])
    for node in read:
        if node.op != "placeholder":
            known[node] = _laid_out(later, known[node], node.meta.get("val"))
    for node in chain:
        known[node] = later.node_copy(node, known.__getitem__)
    later.output([known[each] if each in known else next(given) for each in results])
    first = torch.fx.Graph()
    copies: dict[torch.fx.Node, torch.fx.Node] = {}
    first.graph_copy(graph, copies)
    outputs = pytree.tree_map_only(torch.fx.Node, copies.__getitem__, [*read, *others])
    first.output(tuple(outputs)).meta.update(graph.output_node().meta)
    first.eliminate_dead_code()
    return (
        torch.fx.GraphModule(graph_module, first),
        torch.fx.GraphModule(torch.nn.Module(), later),
    )


def with_views(
    call: Callable[..., Sequence[Any]], views: torch.fx.GraphModule | None
) -> Callable[..., Sequence[Any]]:
    """Returns a function with the outputs of the graph that `separate_views` has divided.

    Args:
        call: the compiled first graph.
        views: the second graph.
    """
    if views is None:
        return call
    return lambda *operands: views(*call(*operands))


def _aliases(graph: torch.fx.Graph, results: Sequence[Any]) -> set[torch.fx.Node]:
    """Returns the outputs that are views of an input or of another output."""
    nodes = {result for result in results if isinstance(result, torch.fx.Node)}
    inputs = {node for node in graph.nodes if node.op == "placeholder"}
    uses = Counter(storage for node in nodes | inputs if (storage := _storage(node)) is not None)
    return {node for node in nodes if _is_view(node) and uses[_storage(node)] > 1}


def _chains(
    graph: torch.fx.Graph, views: set[torch.fx.Node]
) -> tuple[list[torch.fx.Node], list[torch.fx.Node]]:
    """Returns all views on the way to `views`, in order, and the other values that they read."""
    chain, read = set(), {}
    stack = list(views)
    while stack:
        node = stack.pop()
        if node in chain:
            continue
        if _is_view(node):
            chain.add(node)
            stack.extend(node.all_input_nodes)
        else:
            read[node] = None
    return [node for node in graph.nodes if node in chain], list(read)


def _laid_out(graph: torch.fx.Graph, node: torch.fx.Node, traced: Any) -> torch.fx.Node:
    """Adds operators that give a tensor the order of strides of the traced one.

    A compiled region may return other strides, with which a later view may be impossible.
    """
    if not isinstance(traced, torch.Tensor) or traced.dim() < 2:
        return node
    # The strides in the example. Strides that depend on data have no hint.
    hints = [getattr(getattr(each, "node", None), "hint", each) for each in traced.stride()]
    if None in hints:
        return node
    order = sorted(range(len(hints)), key=lambda axis: -hints[axis])
    moved = graph.call_function(torch.ops.aten.permute.default, (node, order))
    dense = graph.call_function(torch.ops.aten.contiguous.default, (moved,))
    back = sorted(range(len(order)), key=order.__getitem__)
    return graph.call_function(torch.ops.aten.permute.default, (dense, back))


def _is_view(node: torch.fx.Node) -> bool:
    """Returns whether a node returns its operand's memory, and changes nothing."""
    if node.op != "call_function":
        return False
    if node.target is operator.getitem:
        return _is_view(node.args[0])
    if not isinstance(node.target, torch._ops.OpOverload):
        return False
    schema = node.target._schema
    return not schema.is_mutable and any(result.alias_info for result in schema.returns)


def _storage(node: torch.fx.Node) -> int | None:
    value = node.meta.get("val")
    if isinstance(value, torch.Tensor) and value.layout is torch.strided:
        return value.untyped_storage()._cdata
    return None
