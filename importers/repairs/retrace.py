"""Replaces a node by the trace of a function with the same arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch.utils import _pytree as pytree

from importers.decompositions.tracing import inline, origin_of, trace


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
