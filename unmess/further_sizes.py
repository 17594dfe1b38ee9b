"""Makes a program's example call at other sizes of its dynamic dimensions."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils import _pytree as pytree

from unmess.core.program.program import Program
from unmess.core.program.strides import resized

# The largest number of combinations of sizes to try: guards may reject most of them.
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
    """Returns up to two calls with the example's values, at other sizes that the program accepts.

    No symbol has the size that it has in the example or in the other call. As far as ranges and
    guards leave a choice, no two symbols of a call are equal, the first call is larger than the
    example, and the second one is smaller, down to size 1.
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
    """Returns values of all symbols in order of preference, those without equal sizes first."""
    tried = itertools.islice(itertools.product(*options.values()), _TRIES)
    found = [dict(zip(options, sizes, strict=True)) for sizes in tried]
    return iter(sorted(found, key=lambda sizes: len(set(sizes.values())) < len(sizes)))


def _larger(size: int, chosen: list[dict[str, int]], name: str) -> Iterator[int]:
    """Yields sizes to try: just above, then steps that suit strides and windows, then below."""
    steps = [size + step for step in (1, 2, 3, 4, 8, 16, 32, 64)] + [2 * size, 3 * size]
    yield from _unused([*steps, *range(size - 1, 0, -1)], chosen, name)


def _smaller(size: int, chosen: list[dict[str, int]], name: str) -> Iterator[int]:
    """Yields sizes to try: 1, which broadcasts, then half, then others below, then above."""
    below = [1, size // 2, *range(size - 1, 1, -1)]
    above = [size + step for step in (1, 2, 3, 4, 8, 16, 32, 64)] + [2 * size, 3 * size]
    yield from _unused([*below, *above], chosen, name)


def _unused(candidates: list[int], chosen: list[dict[str, int]], name: str) -> Iterator[int]:
    used = {sizes[name] for sizes in chosen}
    for size in dict.fromkeys(candidates):
        if size > 0 and size not in used:
            yield size
