"""Values of a running ONNX graph: tensors, known constants, or symbolic sizes."""

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
        data: a tensor; or an array of Python integers and `SymInt`s, for values computed from the
            sizes of tensors.
        known: whether `data` is a real tensor whose elements may be read during the capture.
        sources: the names of the graph's inputs and weights that it depends on.
        stand_in: inside a loop or a branch, the tensor that replaces known `data` from outside.
    """

    data: torch.Tensor | np.ndarray
    known: bool = False
    sources: frozenset[str] = frozenset()
    stand_in: torch.Tensor | None = None

    @property
    def is_sizes(self) -> bool:
        """True if the value is computed from sizes."""
        return isinstance(self.data, np.ndarray)

    @property
    def is_literal(self) -> bool:
        """True if the value is a number that is written into the program."""
        return self.known and self.data.numel() == 1 and _has_scalar(self.data.dtype)

    def tensor(self) -> torch.Tensor:
        """Returns the value as a tensor. Sizes and literals become operations, for the tracer."""
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
    """Converts an array to a known value."""
    # An active tracer would create a tensor without data.
    with _disable_current_modes():
        return Value(to_torch(np.asarray(array)), known=True, sources=sources)


def numbers_of(tensor: torch.Tensor) -> list[Any]:
    """Returns the elements of a real tensor as Python numbers, also while a tracer is active."""
    with _disable_current_modes():
        return tensor.flatten().tolist()


def _has_scalar(dtype: torch.dtype) -> bool:
    return dtype in (torch.float32, torch.float64, torch.int64, torch.int32, torch.bool)


def joint_sources(values: Iterable[Value | None]) -> frozenset[str]:
    """Returns the sources of all given values."""
    return frozenset().union(*(value.sources for value in values if value is not None))


class NeedsValue(Exception):
    """An operator needs a value during the capture that depends on inputs or weights.

    Attributes:
        sources: the names of these inputs and weights.
        what: the operator and its input, for messages.
    """

    def __init__(self, sources: frozenset[str], what: str):
        super().__init__(f"{what} depends on the values of {', '.join(sorted(sources)) or 'data'}")
        self.sources = sources
        self.what = what
