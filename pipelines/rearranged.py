"""Weights that a compiled program reads in another order of elements."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class Rearranged:
    """A part of a weight in which some adjacent rows, the lanes, form the last axis.

    Attributes:
        name: the name by which the program reads it.
        weight: the name of the weight.
        view: the sizes that the weight is viewed with.
        offsets, sizes: the part of the view, along each axis.
        shape: the shape of the result, (rows / lanes, …, lanes).
    """

    name: str
    weight: str
    view: tuple[int, ...]
    offsets: tuple[int, ...]
    sizes: tuple[int, ...]
    shape: tuple[int, ...]

    @property
    def is_whole(self) -> bool:
        """Whether it has all elements of the weight."""
        return self.sizes == self.view

    def of(self, weight: torch.Tensor) -> torch.Tensor:
        """Returns the rearranged part of the weight, contiguous, in the same dtype."""
        ranges = zip(self.offsets, self.sizes, strict=True)
        part = weight.view(self.view)[tuple(slice(at, at + size) for at, size in ranges)]
        groups, *inner, lanes = self.shape
        return part.reshape(groups, lanes, *inner).movedim(1, -1).contiguous()


def with_rearranged(
    weights: Mapping[str, torch.Tensor], rearranged: Iterable[Rearranged]
) -> dict[str, torch.Tensor]:
    """Returns the weights and the rearranged ones, by name."""
    return {**weights, **{each.name: each.of(weights[each.weight]) for each in rearranged}}
