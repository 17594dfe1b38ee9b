"""What an ONNX value is while a graph runs: a tensor, a known constant, or symbolic sizes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch.utils._python_dispatch import _disable_current_modes

from importers.onnx.element_types import to_torch


@dataclass(frozen=True)
class Value:
    """A value of a graph.

    Attributes:
        data: a tensor; or an array of Python integers and `SymInt`s, for what is computed from the
            sizes of tensors.
        known: whether `data` is a real tensor whose elements may be read during the capture.
        sources: the names of the graph's inputs and weights that it depends on.
        stand_in: inside of a loop or a branch, the tensor that stands for known `data` from
            outside.
    """

    data: torch.Tensor | np.ndarray
    known: bool = False
    sources: frozenset[str] = frozenset()
    stand_in: torch.Tensor | None = None

    @property
    def is_sizes(self) -> bool:
        """Whether it is computed from sizes."""
        return isinstance(self.data, np.ndarray)

    @property
    def is_literal(self) -> bool:
        """Whether it is a number that is written into the program."""
        return self.known and self.data.numel() == 1 and _has_scalar(self.data.dtype)

    def tensor(self) -> torch.Tensor:
        """The value as a tensor; one that the tracer records where it is not there yet."""
        if self.stand_in is not None:
            return self.stand_in
        if self.is_sizes:
            numbers = [torch.scalar_tensor(n, dtype=torch.int64) for n in self.data.flat]
            if not numbers:
                return torch.zeros(self.data.shape, dtype=torch.int64)
            return torch.stack(numbers).reshape(self.data.shape)
        if self.is_literal:
            # A literal of the IR, not an argument of the program.
            return torch.full(self.data.shape, numbers_of(self.data)[0], dtype=self.data.dtype)
        return self.data


def known_array(array: np.ndarray, sources: frozenset[str] = frozenset()) -> Value:
    """An array as a known value."""
    # A tracer would make a tensor without elements of it.
    with _disable_current_modes():
        return Value(to_torch(np.asarray(array)), known=True, sources=sources)


def numbers_of(tensor: torch.Tensor) -> list[Any]:
    """The elements of a real tensor as Python numbers, whether a tracer is at work or not."""
    with _disable_current_modes():
        return tensor.flatten().tolist()


def _has_scalar(dtype: torch.dtype) -> bool:
    return dtype in (torch.float32, torch.float64, torch.int64, torch.int32, torch.bool)


def joint_sources(values: Iterable[Value | None]) -> frozenset[str]:
    """The sources of all of these values."""
    return frozenset().union(*(value.sources for value in values if value is not None))


class NeedsValue(Exception):
    """An operator needs a value during the capture that depends on inputs or weights.

    Attributes:
        sources: their names.
        what: the operator and the input of it, for messages.
    """

    def __init__(self, sources: frozenset[str], what: str):
        super().__init__(f"{what} depends on the values of {', '.join(sorted(sources)) or 'data'}")
        self.sources = sources
        self.what = what
