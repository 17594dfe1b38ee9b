"""A loaded program: called with torch tensors, like the model itself."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import torch

from unmess.core.module import Module


class Executable(ABC):
    """A program on a runner.

    Attributes:
        name: of the model.
        runner: name of the runner.
        state: what the model mutates, by name, after the last call. A call reads and replaces it;
            the tensors of the model itself and the arguments of a call are never written.
        seconds: time spent, by step (`import`, `lower`, `compile`, `load`).
    """

    runner: str

    def __init__(self, module: Module):
        self.name = module.name
        self.seconds = dict(module.seconds)
        self.signature = module.signature
        # Borrowed from the model, never copied, unless their elements are not in row-major order.
        self._weights = {
            argument.name: module.weights[argument.name].detach().contiguous()
            for argument in self.signature.of_kind("weight")
        }
        self.state = {
            argument.name: module.weights[argument.name].detach().clone()
            for argument in self.signature.of_kind("state")
        }

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the program once.

        Args: as the model was captured: same pytree, dtypes and shapes (a dynamic dimension may
            have any size in its range).

        Returns:
            The model's own pytree of new tensors (and numbers), which own their memory.

        Raises:
            Error: stage `run`; the call does not fit, or a check inside the program failed.
        """
        values = self.signature.flatten_call(args, kwargs)
        tensors = [
            values[argument.name] if argument.kind == "input" else self.state[argument.name]
            for argument in self.signature.arguments
            if argument.kind != "weight"
        ]
        tensors = [_dense(value) for value in tensors]
        results = self._invoke(tensors)
        for result, value in zip(self.signature.results, results, strict=True):
            if result.kind == "state":
                self.state[result.name] = value
        return self.signature.unflatten_results(results)

    @abstractmethod
    def _invoke(self, arguments: Sequence[torch.Tensor | int | float | bool]) -> list[Any]:
        """Runs the entry function.

        Args:
            arguments: those of kind `input` and `state` in the IR's order, contiguous.

        Returns:
            The IR's results in order.
        """


def _dense(value: Any) -> Any:
    """Row-major memory with its conjugate and negative bits resolved, as the IR reads it."""
    if isinstance(value, torch.Tensor):
        return value.detach().resolve_conj().resolve_neg().contiguous()
    return value
