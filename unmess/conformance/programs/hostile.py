"""Generates random programs with computed indices, and calls of them with hostile indices."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch

_SIZES = (1, 2, 3, 4, 5, 8, 9)
# Hostile indices: limits of integer types, large numbers, and ones that wrap around to small ones.
_HOSTILE = (2**31, -(2**31), 2**32, 2**32 + 1, 1 - 2**32, 10**11, 2**63 - 1, -(2**63))
_NUMBERS = (float("nan"), float("inf"), -0.0, 1e30)
# `E` and `F` are indices of axes 0 and 1, `n` is their number. Repeated writes to an element write
# equal values, so their order does not matter.
_ACCESSES = (
    "x[E]",
    "x[:, F]",
    "x[E, F]",
    "x[E.reshape(1, -1), F]",
    "x.index_select(0, E)",
    "x.index_select(1, F)",
    "x.gather(0, E[:, None])",
    "x.gather(1, F[None])",
    "x.take(E * x.shape[1] + F)",
    "x.take_along_dim(E[:, None], 0)",
    "x.index_put((E,), torch.ones(()))",
    "x.index_put((E, F), torch.ones(()))",
    "x.index_put((E,), torch.ones(n, x.shape[1]), accumulate=True)",
    "x.scatter(0, E[:1, None], 2.0)",
    "x.scatter_add(1, F[None, :1], torch.ones(1, 1))",
    "x.scatter_reduce(0, E[:1, None], torch.ones(1, 1), 'amax')",
    "x.index_add(0, E, torch.ones(n, x.shape[1]))",
    "x.index_copy(0, E, torch.ones(n, x.shape[1]))",
    "x.index_fill(1, F, 3.0)",
    "F_.embedding(E, x)",
    "F_.embedding_bag(E[None], x)",
    "x[E[0]]",
)


@dataclass(frozen=True)
class IndexProgram:
    """A program that reads or writes elements of a matrix at computed indices.

    Attributes:
        shape: the shape of the matrix `x`.
        count: the number of the indices `i`, an int64 tensor of shape (count).
        lines: the statements.
        results: the names of the results.
    """

    shape: tuple[int, int]
    count: int
    lines: tuple[str, ...]
    results: tuple[str, ...]

    @property
    def source(self) -> str:
        """The Python source of the module's class."""
        body = "\n        ".join((*self.lines, f"return {', '.join(self.results)},"))
        return (
            "import torch\nimport torch.nn.functional as F_\n\n\n"
            f"class Model(torch.nn.Module):\n    def forward(self, x, i):\n        {body}\n"
        )

    def model(self) -> torch.nn.Module:
        """Returns a new module."""
        names: dict = {}
        exec(self.source, names)
        return names["Model"]()

    def accepts_first_call(self) -> bool:
        """Returns whether eager accepts the call with small indices, which the capture needs.

        A program may compute a constant index that is always out of range.
        """
        try:
            self.model()(*next(self.calls(1)))
        except (IndexError, RuntimeError):
            return False
        return True

    def calls(self, number: int) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        """Yields the arguments of calls: the first with small indices, the others with any.

        They are always the same for a program.
        """
        draw = random.Random(self.source)
        for call in range(number):
            numbers = [float(draw.randint(-9, 9)) for _ in range(self.shape[0] * self.shape[1])]
            indices = [draw.randint(0, min(self.shape) - 1) for _ in range(self.count)]
            if call:
                numbers[draw.randrange(len(numbers))] = draw.choice(_NUMBERS)
                limit = max(self.shape)
                near = (limit, limit - 1, -limit, -limit - 1, -1, draw.randint(-12, 12))
                at = draw.randrange(self.count)
                indices[at] = draw.choice(near if draw.random() < 0.6 else _HOSTILE)
            yield torch.tensor(numbers).reshape(self.shape), torch.tensor(indices)


def index_programs(seed: int, number: int) -> list[IndexProgram]:
    """Returns distinct programs, always the same for a seed. Eager accepts their first call."""
    draw = random.Random(seed)
    found: dict[IndexProgram, None] = {}
    while len(found) < number:
        program = _program(draw)
        if program.accepts_first_call():
            found[program] = None
    return list(found)


def _program(draw: random.Random) -> IndexProgram:
    shape, count = (draw.choice(_SIZES), draw.choice(_SIZES)), draw.randint(1, 4)
    lines = [f"n = {count}"]
    results = []
    for number in range(draw.choice((1, 1, 2))):
        names = []
        for axis, letter in enumerate("EF"):
            name = f"{letter}{number}"
            lines += _index(draw, name, shape[axis], count)
            names.append(name)
        access = draw.choice(_ACCESSES).replace("F_", "_")
        access = access.replace("E", names[0]).replace("F", names[1]).replace("_.", "F_.")
        lines.append(f"v{number} = {access}")
        results.append(f"v{number}")
    return IndexProgram(shape, count, tuple(lines), tuple(results))


def _index(draw: random.Random, name: str, size: int, count: int) -> list[str]:
    """Returns statements that compute `count` indices of an axis, most of them in its range."""
    literal = [draw.randint(-size, size - 1) for _ in range(count)]
    if draw.random() < 0.15:
        literal[draw.randrange(count)] = draw.choice((size, -size - 1, 2**32, 100))
    start = draw.choice(("i", "i", f"torch.arange({count})", f"torch.tensor({literal})"))
    lines = [f"{name} = {start}"]
    steps: Sequence[str] = (
        f"{name} + {draw.randint(-2, 2)}",
        f"{name} * {draw.choice((-1, 2, 3, 2**40))}",
        f"{name} % {draw.choice((size, size, size + 1, -size))}",
        f"{name} // {draw.choice((2, -3))}",
        f"{name}.clamp({draw.choice((0, 0, -size, -size - 1))}, {draw.choice((size - 1, size))})",
        f"{name}.abs()",
        f"{name}.flip(0)",
        f"{name} - torch.arange({count})",
        f"{name}.to(torch.int32).to(torch.int64)",
        f"torch.where({name} < 0, {name} + {size}, {name})",
        f"torch.where({name} < {size}, {name}, {size - 1})",
        f"torch.minimum({name}, torch.tensor({size - 1}))",
        f"torch.maximum({name}, i)",
        f"{name}.cumsum(0)",
    )
    if "tensor" in start:
        # torch-mlir folds the division of literals as if they were unsigned.
        steps = [step for step in steps if "//" not in step]
    lines += [f"{name} = {draw.choice(steps)}" for _ in range(draw.choice((0, 1, 1, 2, 3)))]
    if draw.random() < 0.4:
        lines.append(f"{name} = {name}.clamp(0, {size - 1})")
    return lines
