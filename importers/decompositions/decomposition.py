"""What is known about an operator that is taken apart."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch


@dataclass(frozen=True)
class Decomposition:
    """An operator that PyTorch leaves whole and torch-mlir, or an exit, does not take.

    Attributes:
        name: for notes.
        operator: as PyTorch spells it, `namespace::name.overload`. A library that is not imported
            has not defined it; it is in no program then.
        stage: where a program with it stops, or becomes wrong.
        reason: what is the matter.
        function: computes it with simpler operators; NotImplemented leaves a call as it is.
        upstream: address of the issue, where there is one.
    """

    name: str
    operator: str
    stage: str
    reason: str
    function: Callable[..., Any]
    upstream: str | None = None

    @property
    def overload(self) -> torch._ops.OpOverload | None:
        """The operator, where it is defined."""
        namespace, qualified = self.operator.split("::")
        name, overload = qualified.split(".")
        packet = getattr(getattr(torch.ops, namespace), name, None)
        return getattr(packet, overload, None)
