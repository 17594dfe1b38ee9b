"""A program's example call at other sizes of its dynamic dimensions."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils import _pytree as pytree

from unmess.core.program import Program
from unmess.core.resize import resized

# How many combinations of sizes are looked at, where guards allow few.
_TRIES = 20_000


@dataclass(frozen=True)
class Call:
    """A call, and the values of the size symbols in it."""

    sizes: dict[str, int]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    def __str__(self) -> str:
        return ", ".join(f"{name}={size}" for name, size in self.sizes.items())


def further_calls(program: Program) -> list[Call]:
    """Two calls with the example's values at sizes that the program takes; fewer where it cannot.

    No symbol has its size of the example or of the other call, and no two symbols of a call are
    equal, as far as ranges and guards leave a choice. The first call is larger than the example,
    the second one smaller, down to size 1.
    """
    signature = program.signature
    values = signature.flatten_call(program.args, program.kwargs)
    example = signature.symbols(program.args, program.kwargs)
    numbers = {n: value for n, value in values.items() if not isinstance(value, torch.Tensor)}
    chosen = [example]
    for prefer in (_larger, _smaller):
        options = {name: [*prefer(size, chosen, name)] for name, size in example.items()}
        sizes = next(
            (
                sizes
                for sizes in _combinations(options)
                if signature.shapes(sizes, numbers) is not None
            ),
            None,
        )
        if sizes:
            chosen.append(sizes)
    leaves, spec = pytree.tree_flatten((program.args, program.kwargs))
    calls = []
    for sizes in chosen[1:]:
        shapes = signature.shapes(sizes, numbers)
        changed = [
            resized(value.detach(), shapes[leaf.name]) if leaf.name in shapes else value
            for leaf, value in zip(signature.inputs, leaves, strict=True)
        ]
        calls.append(Call(sizes, *pytree.tree_unflatten(changed, spec)))
    return calls


def _combinations(options: dict[str, list[int]]) -> Iterator[dict[str, int]]:
    """Values of all symbols in order of preference, those without two equal ones first."""
    tried = itertools.islice(itertools.product(*options.values()), _TRIES)
    found = [dict(zip(options, sizes, strict=True)) for sizes in tried]
    return iter(sorted(found, key=lambda sizes: len(set(sizes.values())) < len(sizes)))


def _larger(size: int, chosen: list[dict[str, int]], name: str) -> Iterator[int]:
    """Sizes to try in order: just above first, then steps that strides and windows go with."""
    steps = [size + step for step in (1, 2, 3, 4, 8, 16, 32, 64)] + [2 * size, 3 * size]
    yield from _unused([*steps, *range(size - 1, 0, -1)], chosen, name)


def _smaller(size: int, chosen: list[dict[str, int]], name: str) -> Iterator[int]:
    """Sizes to try in order: 1, which broadcasts, then half and below, then anything above."""
    below = [1, size // 2, *range(size - 1, 1, -1)]
    above = [size + step for step in (1, 2, 3, 4, 8, 16, 32, 64)] + [2 * size, 3 * size]
    yield from _unused([*below, *above], chosen, name)


def _unused(candidates: list[int], chosen: list[dict[str, int]], name: str) -> Iterator[int]:
    used = {sizes[name] for sizes in chosen}
    for size in dict.fromkeys(candidates):
        if size > 0 and size not in used:
            yield size
