"""A graph node that the torch dialect has no form for."""

from __future__ import annotations

from collections.abc import Callable

import torch

from unmess.core.error import Error, first_line
from unmess.core.user_source import node_line


def at(node: torch.fx.Node, action: Callable[[], None]) -> None:
    """Imports a node by `action`; raises an Error (`import`) that names it where that fails."""
    try:
        action()
    except Error:
        # Of a node in a sub-graph.
        raise
    except Exception as problem:
        raise Error(
            "import",
            f"{_spelled(node.target)} has no form in the torch dialect: {_reason(problem)}",
            where=node_line(node),
            hint="write the model without this operator, or with a simpler call of it",
        ) from problem


def _spelled(target: object) -> str:
    """An operator as PyTorch spells it; a Python function by its name."""
    if isinstance(target, (str, torch._ops.OpOverload)):
        return str(target)
    return target.__name__


def _reason(problem: Exception) -> str:
    # The importer prints the whole node where it knows no form for it.
    if str(problem).startswith("FIX ME"):
        return "torch-mlir's importer has no case for it"
    return first_line(problem)
