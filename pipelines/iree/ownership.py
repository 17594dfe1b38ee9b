"""Which results of a call lie in memory that is somebody else's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch


def shared(arguments: Sequence[tuple[str, Any]], results: Sequence[tuple[str, Any]]) -> list[int]:
    """The indices of the results that must be copied to be the caller's, or the state's, own.

    A program that returns an argument, or one value twice, returns the same memory. State may stay
    in the memory that it was in; an output may be in none that the state, an argument or another
    output is in.

    Args:
        arguments, results: each with its kind, `input`, `output` or `state`; what is no tensor in
            the CPU's memory is passed over.
    """
    places: list[tuple[int, int]] = []
    indices: list[int] = []
    # In order of who keeps the memory.
    for kind, values in (
        ("input", arguments),
        ("state", results),
        ("state", arguments),
        ("output", results),
    ):
        for index, (its_kind, value) in enumerate(values):
            if its_kind == kind and isinstance(value, torch.Tensor) and value.numel():
                start = value.data_ptr()
                places.append((start, start + value.numel() * value.itemsize))
                indices.append(index if values is results else -1)
    if not places:
        return []
    starts, ends = np.array(places, dtype=np.uint64).T
    overlap = (starts[:, None] < ends[None, :]) & (starts[None, :] < ends[:, None])
    not_first = np.tril(overlap, -1).any(axis=1)
    return [index for index, late in zip(indices, not_first, strict=True) if late and index >= 0]
