"""Removes the tokens with which AOTAutograd orders operators that have effects.

AOTAutograd calls such an operator, for example the check of `torch.linalg.solve`, by the
higher-order operator `with_effects`, which takes a token and returns a new one. The order of the
nodes in the graph is the same, so the operator can be called itself.
"""

from __future__ import annotations

import torch


def remove_tokens(graph: torch.fx.Graph) -> None:
    """Replaces each call of `with_effects` in a graph by a call of its operator, in place.

    If the graph takes and returns a token, it returns the token that it takes.
    """
    for node in list(graph.nodes):
        if node.target is torch.ops.higher_order.with_effects:
            _call_directly(graph, node)


def _call_directly(graph: torch.fx.Graph, node: torch.fx.Node) -> None:
    token, called, *args = node.args
    with graph.inserting_before(node):
        call = graph.call_function(called, tuple(args), dict(node.kwargs))
    # The value of `with_effects` is (token, result, …).
    _token, *values = node.meta["val"]
    several = len(called._schema.returns) > 1
    call.meta = {**node.meta, "val": tuple(values) if several else next(iter(values), None)}
    for element in list(node.users):
        _node, index = element.args
        if index > 0 and several:
            element.args = (call, index - 1)
        else:
            element.replace_all_uses_with(token if index == 0 else call)
            graph.erase_node(element)
    graph.erase_node(node)
