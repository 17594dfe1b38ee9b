"""Generates random programs with a loop that carries several tensors."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass

import torch

_DTYPES = (torch.float32, torch.float64, torch.int32, torch.int64)
# Initial values of a tensor of the loop, computed from an input `a`. PyTorch requires tensors that
# share no memory. Captured programs have no copies, so several tensors start as the input itself.
_STARTS = ("a.clone()", "a.clone()", "a + 1", "torch.zeros_like(a)", "a.flip(0).flip(0).clone()")
# The next value of `a`. `b` has the same shape and dtype, `c` may have others, `n` is the step.
_STEPS = (
    "a.clone()",
    "b.clone()",
    "a * 2 - b",
    "torch.where(n % 2 == 0, a, b)",
    "torch.roll(b, 1, 0)",
    "torch.cat([a[1:], b[:1]])",
    "b.index_copy(0, (n % 3).reshape(1), a[:1])",
    "torch.slice_scatter(a, b[1:], 0, 0, 2)",
    "a + (c.sum() % 5).to(a.dtype)",
    "torch.cond(n > 1, lambda x: x * 3, lambda x: x - 1, (a,)) + b",
)
_CONDITIONS = ("n < limit", "torch.logical_and(n < limit, go)")


@dataclass(frozen=True)
class LoopProgram:
    """A program with a loop.

    Attributes:
        inputs: shape and dtype of each input except the limit of the steps.
        starts: an expression of the inputs for each tensor that the loop carries.
        steps: an expression for the next value of each of these tensors.
        condition: whether the loop goes on.
        go: the next value of a condition that the loop carries.
    """

    inputs: tuple[tuple[tuple[int, int], torch.dtype], ...]
    starts: tuple[str, ...]
    steps: tuple[str, ...]
    condition: str
    go: str
    dynamic_shapes = None

    @property
    def source(self) -> str:
        """The Python source of the module's class."""
        inputs = ", ".join(f"x{number}" for number in range(len(self.inputs)))
        state = ", ".join(f"s{number}" for number in range(len(self.starts)))
        return f"""\
import torch
from torch._higher_order_ops.while_loop import while_loop


class Model(torch.nn.Module):
    def forward(self, limit, {inputs}):
        def condition(n, go, {state}):
            return {self.condition}

        def step(n, go, {state}):
            return n + 1, {self.go}, {", ".join(self.steps)}

        start = (torch.tensor(0), torch.tensor(True), {", ".join(self.starts)})
        return while_loop(condition, step, start)
"""

    def model(self) -> torch.nn.Module:
        """Returns a new module."""
        names: dict = {}
        exec(self.source, names)
        return names["Model"]()

    def calls(self, number: int) -> Iterator[tuple[torch.Tensor, ...]]:
        """Yields the arguments of calls. They are always the same for a program."""
        draw = random.Random(self.source)
        for call in range(number):
            tensors = [
                torch.tensor(
                    [draw.randint(-4, 4) for _ in range(shape[0] * shape[1])], dtype=dtype
                ).reshape(shape)
                for shape, dtype in self.inputs
            ]
            yield torch.tensor((2, 0, 5)[call % 3]), *tensors


def loop_programs(seed: int, number: int) -> list[LoopProgram]:
    """Returns distinct programs, always the same for a seed."""
    draw = random.Random(seed)
    found: dict[LoopProgram, None] = {}
    while len(found) < number:
        found[_program(draw)] = None
    return list(found)


def _program(draw: random.Random) -> LoopProgram:
    inputs = tuple(((3, draw.choice((1, 4, 7))), draw.choice(_DTYPES)) for _ in range(2))
    count = draw.randint(2, 5)
    # The input that each tensor starts with: tensors of the same input have the same type.
    origins = [draw.randrange(len(inputs)) for _ in range(count)]
    starts = [_with_names(draw.choice(_STARTS), f"x{origin}") for origin in origins]
    steps = []
    for number, origin in enumerate(origins):
        same = [other for other, its in enumerate(origins) if its == origin]
        other, any_one = draw.choice(same), draw.randrange(count)
        step = draw.choice(_STEPS)
        steps.append(_with_names(step, f"s{number}", f"s{other}", f"s{any_one}"))
    go = draw.choice(("go.clone()", "s0.sum() < 40", "n < 3"))
    return LoopProgram(inputs, tuple(starts), tuple(steps), draw.choice(_CONDITIONS), go)


def _with_names(expression: str, *names: str) -> str:
    """Replaces the variables a, b and c."""
    for letter, name in zip("abc", names, strict=False):
        expression = re.sub(rf"\b{letter}\b", name, expression)
    return expression
