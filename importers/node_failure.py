"""Reports graph nodes that the torch dialect cannot express."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch.utils import _pytree as pytree
from torch_mlir.extras import fx_importer

from unmess.core.errors.error import Error, first_line
from unmess.core.errors.user_source import node_line

# Operators that the torch dialect lacks, with the reason why a call was not rewritten before.
_NOT_REWRITTEN = {
    torch.ops.aten.as_strided.default: "only calls with static sizes are supported, on tensors "
    "whose elements fill their memory"
}


def at(node: torch.fx.Node, action: Callable[[], None]) -> None:
    """Imports a node by `action`; raises an Error (`import`) that names the node if that fails."""
    try:
        action()
    except Error:
        # A node in a subgraph failed.
        raise
    except Exception as problem:
        raise Error(
            "import",
            f"{_spelled(node.target)} has no form in the torch dialect: {_reason(node, problem)}",
            where=node_line(node),
            hint="write the model without this operator, or with a simpler call of it",
        ) from problem


def check_types(graph: torch.fx.Graph) -> None:
    """Raises an Error (`import`) if a tensor has a dtype that the torch dialect lacks."""
    for node in graph.nodes:
        for value in pytree.tree_leaves(node.meta.get("val")):
            if not isinstance(value, torch.Tensor):
                continue
            if value.dtype not in fx_importer.TORCH_DTYPE_TO_MLIR_TYPE:
                raise Error(
                    "import",
                    f"{node.name} is {value.dtype}, which has no form in the torch dialect",
                    where=node_line(node),
                    hint="use another type, such as the next wider signed one",
                )


def _spelled(target: object) -> str:
    """Returns the name of an operator as PyTorch prints it, or of a Python function."""
    if isinstance(target, (str, torch._ops.OpOverload)):
        return str(target)
    return target.__name__


def _reason(node: torch.fx.Node, problem: Exception) -> str:
    if node.target in _NOT_REWRITTEN:
        return _NOT_REWRITTEN[node.target]
    # For an unknown kind of node, the importer's message is the text of the whole node.
    if str(problem).startswith("FIX ME"):
        return "torch-mlir's importer does not support it"
    return first_line(problem)
