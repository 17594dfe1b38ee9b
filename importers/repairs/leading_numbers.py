"""Converts Python numbers in the position of the first tensor operand to f64 tensors."""

from __future__ import annotations

from typing import Any

import torch

from importers.decompositions import decomposition_table
from importers.decompositions.tracing import tracing
from importers.repairs.retrace import replace_call


def convert_leading_numbers_to_f64(graph: torch.fx.Graph) -> int:
    """Converts a number that is the first operand of an operator with an f64 result to a tensor.

    An example is 0.1 - x. Returns how many there were.
    """
    nodes = [node for node in graph.nodes if _begins_with_a_number(node)]
    if not nodes:
        return 0
    with tracing(graph, decomposition_table()) as table:
        for node in nodes:
            replace_call(node, _of_a_tensor(node.target), table)
    return len(nodes)


def _begins_with_a_number(node: torch.fx.Node) -> bool:
    if node.op != "call_function" or not isinstance(node.target, torch._ops.OpOverload):
        return False
    first = node.target._schema.arguments[:1]
    if not node.args or type(node.args[0]) is not float or str(first[0].type) != "Tensor":
        return False
    return node.meta["val"].dtype == torch.float64


def _of_a_tensor(target: torch._ops.OpOverload) -> Any:
    def call(number: float, *args: Any, **kwargs: Any) -> Any:
        return target(torch.full((), number, dtype=torch.float64), *args, **kwargs)

    return call
