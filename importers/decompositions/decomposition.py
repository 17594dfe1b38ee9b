"""The description of a decomposition."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch


# Entries are compared by identity, so that a tuple of all is hashed fast.
@dataclass(frozen=True, eq=False)
class Decomposition:
    """A decomposition of an operator that PyTorch keeps and that torch-mlir, or an output dialect,
    rejects.

    Attributes:
        name: the name in notes.
        operator: the operator as PyTorch spells it, `namespace::name.overload`. If its library is
            not imported, the operator is not defined, and no program contains it.
        stage: where a program with the operator stops or becomes wrong.
        reason: why the operator needs a decomposition.
        function: computes the operator with simpler ones. Returns NotImplemented to keep a call.
    """

    name: str
    operator: str
    stage: str
    reason: str
    function: Callable[..., Any]

    @property
    def overload(self) -> torch._ops.OpOverload | None:
        """The operator, or None if it is not defined."""
        return _overload(self.operator)


def _overload(operator: str) -> torch._ops.OpOverload | None:
    namespace, qualified = operator.split("::")
    name, overload = qualified.split(".")
    packet = getattr(getattr(torch.ops, namespace), name, None)
    return getattr(packet, overload, None)


def entries(
    name: str, stage: str, reason: str, functions: Mapping[str, Callable[..., Any]]
) -> tuple[Decomposition, ...]:
    """Returns a Decomposition for each operator of `functions`.

    Args:
        name, stage, reason: as for `Decomposition`.
        functions: by operator. An operator without a namespace is one of `aten`.
    """
    return tuple(
        Decomposition(
            name, operator if "::" in operator else f"aten::{operator}", stage, reason, function
        )
        for operator, function in functions.items()
    )


def of_overloads(
    decompose: Callable[[torch._ops.OpOverload], Callable[..., Any]], *operators: str
) -> dict[str, Callable[..., Any]]:
    """Returns `decompose(overload)` for each operator of aten, for `entries`."""
    return {operator: decompose(_overload(f"aten::{operator}")) for operator in operators}
