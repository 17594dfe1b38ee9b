"""Generates random programs with computed indices, and calls of them with hostile indices."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch

_SIZES = (1, 2, 3, 4, 5, 8, 9)
# Hostile indices: limits of integer types, large numbers, and those that are small modulo 2**32.
_HOSTILE = (2**31, -(2**31), 2**32, 2**32 + 1, 1 - 2**32, 10**11, 2**63 - 1, -(2**63))
_NUMBERS = (float("nan"), float("inf"), -0.0, 1e30)
# `E` and `F` are tensors of `n` indices, of axes 0 and 1. Repeated writes to an element write
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
# Accesses that also accept an empty tensor of indices.
_ACCESSES_BY_ANY_NUMBER = (
    "x[E]",
    "x[:, F]",
    "x[E, F]",
    "x[E[:, None], F]",
    "x[:, None].expand(-1, 2, -1)[E, :, F]",
    "x.index_select(0, E)",
    "x.gather(0, E[:, None])",
    "x.take(E * x.shape[1] + F)",
    "x.take_along_dim(E[:, None], 0)",
    "x.index_put((E,), torch.ones(()))",
    "x.index_put((E, F), torch.ones(()))",
    "x.index_put((E, F), torch.ones(n), accumulate=True)",
    "x.index_put((E[:, None], F), torch.ones(()))",
    "torch.ops.aten.index_put(x, [None, F], torch.ones(()))",
    "torch.ops.aten.index_put(x[:, None].repeat(1, 2, 1), [E, None, F], torch.ones(2))",
    "x.put(E * x.shape[1] + F, torch.ones(n))",
    "x.scatter(0, E[:, None], 2.0)",
    "x.scatter_add(1, F[None], torch.ones(1, n))",
    "x.scatter_reduce(0, E[:, None], torch.ones(n, 1), 'amax')",
    "x.index_add(1, F, torch.ones(x.shape[0], n))",
    "x.index_copy(0, E, torch.ones(n, x.shape[1]))",
    "x.index_fill(1, F, 3.0)",
    "F_.embedding(E, x)",
)
# Statements that select indices by data, so that their number depends on data.
_CHOICES = ("i[i > x[0, 0]]", "torch.where(i > x[0, 0])[0]")
# Eager compares the operand sizes of these operators, so the matrix must have a row.
_NEED_ROWS = ("gather", "scatter", "take", "x.put")


@dataclass(frozen=True)
class IndexProgram:
    """A program that reads or writes elements of a matrix at computed indices.

    Attributes:
        shape: the shape of the matrix `x`.
        count: the number of the indices `i`, an int64 tensor of shape (count).
        lines: the statements.
        results: the names of the results.
        dynamic: whether the number of the indices is dynamic, and may be 0.
        dynamic_rows: whether the number of the rows of `x` is dynamic, and may be 0.
    """

    shape: tuple[int, int]
    count: int
    lines: tuple[str, ...]
    results: tuple[str, ...]
    dynamic: bool = False
    dynamic_rows: bool = False

    @property
    def source(self) -> str:
        """The Python source of the module's class."""
        body = "\n        ".join((*self.lines, f"return {', '.join(self.results)},"))
        return (
            "import torch\nimport torch.nn.functional as F_\n\n\n"
            f"class Model(torch.nn.Module):\n    def forward(self, x, i):\n        {body}\n"
        )

    @property
    def dynamic_shapes(self) -> tuple[dict[int, torch.export.Dim], ...]:
        """The dynamic sizes of `x` and `i`, for `torch.export`."""
        sizes = (("rows", self.dynamic_rows), ("number", self.dynamic))
        return tuple(
            {0: torch.export.Dim(name, min=0)} if is_dynamic else {} for name, is_dynamic in sizes
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
            (rows, columns), count = self.shape, self.count
            if call and self.dynamic_rows:
                rows = draw.choice((0, 1, rows))
            if call and self.dynamic:
                count = draw.choice((0, 1, count))
            numbers = [float(draw.randint(-9, 9)) for _ in range(rows * columns)]
            indices = [draw.randint(0, min(self.shape) - 1) for _ in range(count)]
            if call and numbers:
                numbers[draw.randrange(len(numbers))] = draw.choice(_NUMBERS)
            if call and indices:
                limit = max(self.shape)
                near = (limit, limit - 1, -limit, -limit - 1, -1, draw.randint(-12, 12))
                at = draw.randrange(count)
                indices[at] = draw.choice(near if draw.random() < 0.6 else _HOSTILE)
            x = torch.tensor(numbers).reshape(rows, columns)
            yield x, torch.tensor(indices, dtype=torch.int64)


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
    dynamic, chosen = draw.choice(((False, False), (False, False), (True, False), (False, True)))
    accesses = _ACCESSES_BY_ANY_NUMBER if dynamic or chosen else _ACCESSES
    lines = []
    if chosen:
        lines.append(f"i = {draw.choice(_CHOICES)}")
    if dynamic:
        # torch.export treats a size of 1 in the first call as static.
        shape, count = (max(shape[0], 2), shape[1]), max(count, 2)
    lines.append(f"n = {'i.shape[0]' if dynamic or chosen else count}")
    results, dynamic_rows = [], dynamic
    for number in range(draw.choice((1, 1, 2))):
        names = []
        for axis, letter in enumerate("EF"):
            name = f"{letter}{number}"
            lines += _index(draw, name, shape[axis], count, dynamic or chosen)
            names.append(name)
        access = draw.choice(accesses)
        dynamic_rows = dynamic_rows and not any(name in access for name in _NEED_ROWS)
        access = (
            access.replace("F_", "_")
            .replace("E", names[0])
            .replace("F", names[1])
            .replace("_.", "F_.")
        )
        lines.append(f"v{number} = {access}")
        results.append(f"v{number}")
    return IndexProgram(shape, count, tuple(lines), tuple(results), dynamic, dynamic_rows)


def _index(draw: random.Random, name: str, size: int, count: int, varies: bool) -> list[str]:
    """Returns statements that compute `n` indices of an axis, most of them in its range.

    `n` is at most `count`, and less in some calls if it varies.
    """
    literal = [draw.randint(-size, size - 1) for _ in range(count)]
    if draw.random() < 0.15:
        literal[draw.randrange(count)] = draw.choice((size, -size - 1, 2**32, 100))
    numbers = f"torch.tensor({literal})"
    if varies:
        numbers += "[torch.arange(n)]"
    start = draw.choice(("i", "i", "torch.arange(n)", numbers))
    lines = [f"{name} = {start}"]
    steps: Sequence[str] = (
        f"{name} + {draw.randint(-2, 2)}",
        f"{name} * {draw.choice((-1, 2, 3, 2**40))}",
        f"{name} % {draw.choice((size, size, size + 1, -size))}",
        f"{name} // {draw.choice((2, -3))}",
        f"{name}.clamp({draw.choice((0, 0, -size, -size - 1))}, {draw.choice((size - 1, size))})",
        f"{name}.abs()",
        f"{name}.flip(0)",
        f"{name} - torch.arange(n)",
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
