"""A captured model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

from unmess.core.program.note import Note
from unmess.core.signature.torch_signature import TorchSignature


@dataclass(frozen=True)
class Attempt:
    """One capture strategy that was tried. `error` is None if it succeeded."""

    strategy: str
    seconds: float
    error: BaseException | None = None


@dataclass(frozen=True)
class Specialized:
    """A tensor of the model whose values decided the control flow at the capture.

    Attributes:
        name: its name in the state dict.
        tensor: the model's own tensor.
        value: a copy of its values at the capture.
    """

    name: str
    tensor: torch.Tensor
    value: torch.Tensor


@dataclass
class Program:
    """A captured model: ExportedProgram, weights by name, signature.

    Attributes:
        name: name for messages and file names.
        exported: functional and decomposed, ready to be imported; None for a program from IR.
        signature: pytrees of inputs and outputs, and which outputs are state.
        weights: parameters, buffers and lifted constants by their name in the state dict. These are
            the model's own tensors, not copies. Tied weights appear once.
        tied: further names of tied weights, mapped to the name in `weights`.
        eager: the model that the user passed in, for comparison.
        args, kwargs: the example call of the capture.
        attempts: the capture strategies tried, in order; the last one succeeded.
        specialized: tensors whose values are compared again at load.
        notes: all differences from the model that the user passed in.
        seconds: time spent, by step (`capture`, …).
    """

    name: str
    exported: torch.export.ExportedProgram | None
    signature: TorchSignature
    weights: dict[str, torch.Tensor]
    tied: dict[str, str]
    eager: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    attempts: tuple[Attempt, ...] = ()
    specialized: tuple[Specialized, ...] = ()
    notes: tuple[Note, ...] = ()
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def strategy(self) -> str:
        """The capture strategy that succeeded."""
        return self.attempts[-1].strategy if self.attempts else "exported"
