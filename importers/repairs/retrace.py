"""Replaces a node by the trace of a function with the same arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch.utils import _pytree as pytree

from importers.decompositions import decomposition_table
from importers.decompositions.numbers import as_tensor
from importers.decompositions.tracing import inline, origin_of, trace, tracing


def replace_call(node: torch.fx.Node, function: Callable[..., Any], table: Mapping) -> None:
    """Replaces a node by the trace of `function`, called with the node's arguments.

    Must run inside `tracing`. The function returns what the node returns: a tensor or a list of
    tensors.

    Args:
        table: the decompositions that `tracing` yields.
    """
    leaves, spec = pytree.tree_flatten((node.args, node.kwargs))
    operands = [leaf for leaf in leaves if isinstance(leaf, torch.fx.Node)]

    def call(*values: Any) -> Any:
        given = iter(values)
        filled = [next(given) if isinstance(leaf, torch.fx.Node) else leaf for leaf in leaves]
        args, kwargs = pytree.tree_unflatten(filled, spec)
        return function(*args, **kwargs)

    graph = node.graph
    with graph.inserting_before(node):
        traced = trace(call, [operand.meta["val"] for operand in operands], table)
        result = inline(traced, operands, graph, origin_of(node))
    if isinstance(result, torch.fx.Node):
        node.replace_all_uses_with(result)
    else:
        for user in list(node.users):
            user.replace_all_uses_with(result[user.args[1]])
            graph.erase_node(user)
    graph.erase_node(node)


def replace_calls(
    graph: torch.fx.Graph,
    nodes: Sequence[torch.fx.Node],
    function_of: Callable[[torch.fx.Node], Callable[..., Any]],
) -> int:
    """Replaces each node by the trace of the function that `function_of` returns for it.

    Returns the number of nodes.
    """
    if nodes:
        with tracing(graph, decomposition_table()) as table:
            for node in nodes:
                replace_call(node, function_of(node), table)
    return len(nodes)


def convert_leading_numbers(graph: torch.fx.Graph) -> int:
    """Converts numbers that are the first operand of an operator on tensors, as in 0.1 - x.

    Converts symbolic numbers, and numbers of operators with an f64 result. Returns how many.
    """
    nodes = [node for node in graph.nodes if _begins_with_a_number(node)]
    return replace_calls(graph, nodes, lambda node: _of_a_tensor(node.target))


def _begins_with_a_number(node: torch.fx.Node) -> bool:
    if node.op != "call_function" or not isinstance(node.target, torch._ops.OpOverload):
        return False
    first = node.target._schema.arguments[:1]
    if not node.args or str(first[0].type) != "Tensor":
        return False
    number = node.args[0]
    if isinstance(number, torch.fx.Node):
        return isinstance(number.meta.get("val"), (*torch.types.py_sym_types, int, float))
    return type(number) is float and node.meta["val"].dtype == torch.float64


def _of_a_tensor(target: torch._ops.OpOverload) -> Any:
    def call(number: Any, *args: Any, **kwargs: Any) -> Any:
        others = [each for each in args if isinstance(each, torch.Tensor)]
        dtype = torch.result_type(number, others[0]) if others else torch.float64
        return target(as_tensor(number, dtype), *args, **kwargs)

    return call
