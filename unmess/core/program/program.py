"""A captured model."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

from unmess.core.program.note import Note
from unmess.core.signature.entry_points import ENTRY
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
class Program(ABC):
    """A model that can be imported: signature, weights by name, example call.

    Attributes:
        name: name for messages and file names.
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
        entry: the name of the entry point.
    """

    name: str
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
    entry: str = ENTRY

    @property
    def entries(self) -> dict[str, Program]:
        """The program itself by the name of its entry point, as in Programs."""
        return {self.entry: self}

    @property
    def strategy(self) -> str:
        """The capture strategy that succeeded."""
        return self.attempts[-1].strategy if self.attempts else "exported"

    @property
    def comparison_notes(self) -> tuple[str, ...]:
        """Notes for the user about the result that `eager` returned last."""
        return ()

    def to_module(self, weights: str = "external") -> Any:
        """Returns the Module at the first stage of the program. See `import_programs`."""
        return self.import_programs(self, weights)

    @staticmethod
    @abstractmethod
    def import_programs(program: Any, weights: str) -> Any:
        """Imports a program of this type, or Programs of it, into one Module.

        Args:
            weights: `external` makes every weight an argument of the entry function, after the
                call's own. `inline` and `elide` make them literals over the tensors' own memory.
                `splat` makes them literals with one value, the first element of the tensor.

        Raises:
            Error: stage `usage` for an unknown `weights`; `import` for an operator or argument that
                the torch dialect cannot express.
        """
