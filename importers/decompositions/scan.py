"""Combines each element of a tensor with all before it, in a logarithmic number of rounds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from importers.decompositions.complex_pair import Complex
from importers.decompositions.linear_algebra.loops import repeat_while

# Combines elements with those right after them: lists of parts, and a list of the same length.
Combine = Callable[[Sequence[Any], Sequence[Any]], Sequence[Any]]


def scan(combine: Combine, parts: Sequence[Any], dim: int) -> list[Any]:
    """Returns for each i the combination of the elements 0, …, i along `dim`.

    Each round doubles the number of elements that are combined. A loop runs the rounds if the size
    along `dim` is dynamic.

    Args:
        combine: an associative function of the earlier and the later elements. It works
            elementwise, keeps dtypes, and captures no tensors.
        parts: tensors and `Complex` of one shape, with at least one axis. An element is a tuple
            with one value of each.
    """
    size = parts[0].shape[dim]
    if not isinstance(size, int):
        return _in_a_loop(combine, parts, dim)
    distance = 1
    while distance < size:
        earlier = [_map(torch.narrow, part, dim, 0, size - distance) for part in parts]
        later = [_map(torch.narrow, part, dim, distance, size - distance) for part in parts]
        complete = [_map(torch.narrow, part, dim, 0, distance) for part in parts]
        combined = combine(earlier, later)
        parts = [_map_both(_joined(dim), *pair) for pair in zip(complete, combined, strict=True)]
        distance *= 2
    return list(parts)


def _in_a_loop(combine: Combine, parts: Sequence[Any], dim: int) -> list[Any]:
    parts = [_map(torch.transpose, part, dim, -1) for part in parts]

    def more(distance: torch.Tensor, first: Any, *_: Any) -> torch.Tensor:
        return distance < first.shape[-1]

    def advance(distance: torch.Tensor, *parts: Any) -> tuple:
        place = torch.arange(parts[0].shape[-1])
        before = (place - distance).clamp(min=0)
        earlier = [_map(torch.index_select, part, -1, before) for part in parts]
        combined = combine(earlier, parts)
        is_complete = place < distance
        chosen = [
            _map_both(lambda old, new: torch.where(is_complete, old, new), *pair)
            for pair in zip(parts, combined, strict=True)
        ]
        return distance * 2, *chosen

    start = (torch.ones((), dtype=torch.int64), *parts)
    _, *parts = repeat_while(more, advance, start)
    return [_map(torch.transpose, part, dim, -1) for part in parts]


def _joined(dim: int) -> Callable[..., torch.Tensor]:
    return lambda first, second: torch.cat([first, second], dim)


def _map(function: Callable[..., torch.Tensor], part: Any, *args: Any) -> Any:
    return part.map(function, *args) if isinstance(part, Complex) else function(part, *args)


def _map_both(function: Callable[..., torch.Tensor], a: Any, b: Any) -> Any:
    if isinstance(a, Complex):
        return Complex(function(a.real, b.real), function(a.imaginary, b.imaginary))
    return function(a, b)
