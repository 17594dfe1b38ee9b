"""The catalog of decompositions, in the order of `importers/repair_list.yaml`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from importers.decompositions.overloads import overload_of
from importers.repair_list import functions_of


# Entries are compared by identity, so that a tuple of all is hashed fast.
@dataclass(frozen=True, eq=False)
class Decomposition:
    """Replaces an operator that PyTorch keeps and that torch-mlir or an output dialect rejects.

    Attributes:
        name: the name in notes.
        operator: the operator as PyTorch spells it, `namespace::name.overload`. If its library is
            not imported, the operator is not defined, and no program contains it.
        function: computes the operator with simpler ones. Returns NotImplemented to keep a call.
    """

    name: str
    operator: str
    function: Callable[..., Any]

    @property
    def overload(self) -> torch._ops.OpOverload | None:
        """The operator, or None if it is not defined."""
        return overload_of(self.operator)


def _of_operator(function: Callable[..., Any], operator: str) -> Callable[..., Any]:
    if getattr(function, "takes_overload", False):
        return functools.partial(function, overload_of(operator))
    return function


DECOMPOSITIONS = tuple(
    Decomposition(listed.name, listed.mends, _of_operator(function, listed.mends))
    for listed, function in functions_of("decomposition")
)
