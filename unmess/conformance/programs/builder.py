"""Draws a program statement by statement, and runs each statement in eager at once."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from hypothesis import strategies as st

from unmess.conformance.programs.program import Program
from unmess.conformance.programs.values import ANY, COMPLEX, FLOATS, INTEGERS, is_exact, pool

# Errors that eager raises if operands do not fit. All others are mistakes in an `Operator`.
_REFUSED = (RuntimeError, IndexError, NotImplementedError)
_ELEMENTS = 3000
_INPUTS = 3
_SIZES = (2, 3, 4, 5, 6, 1, 0)
_SIZE_WEIGHTS = (5, 5, 4, 4, 2, 3, 1)
# Sizes near the widths of the reference runner's tiles.
_TILES = (8, 16, 17, 7, 9, 15, 31, 32, 33, 1)


class Skip(Exception):
    """The operator cannot continue the program."""


@dataclass(frozen=True)
class Operator:
    """A way to continue a program.

    Attributes:
        draw: returns an expression over the Builder's values, or statements that assign `{out}`.
        exact: whether results of exact operands have no rounding errors either.
        sized_by_data: whether the shape of the result depends on data.
    """

    draw: Callable[[Builder], str]
    exact: bool
    sized_by_data: bool

    @property
    def name(self) -> str:
        """The name of the operator, for counting."""
        return self.draw.__name__


class Family(list):
    """Operators of one kind, registered by decorating the functions that draw them."""

    def add(
        self, *, exact: bool = False, sized_by_data: bool = False
    ) -> Callable[[Callable], Callable]:
        """Registers a function as an `Operator`."""

        def register(function: Callable[[Builder], str]) -> Callable[[Builder], str]:
            self.append(Operator(function, exact, sized_by_data))
            return function

        return register


class Builder:
    """A program under construction: its inputs, its statements, and the eager value of each name.

    A value is exact if it has no rounding error for any order of operations. Only exact values are
    compared, rounded, sorted and the like. For others, rounding errors would change such results
    by more than a tolerance.
    """

    def __init__(self, draw: Callable[[st.SearchStrategy], Any]):
        self._draw = draw
        self.inputs: dict[str, str] = {}
        self.lines: list[str] = []
        self.values: dict[str, torch.Tensor] = {}
        self._ends: list[str] = []
        self.drawn: list[str] = []
        self.sized_by_data: set[str] = set()
        self._exact: set[str] = set()
        self._used: set[str] = set()

    # Choices.

    def pick(self, *options: Any) -> Any:
        """Draws one of the options. The first is the simplest."""
        return self._draw(st.sampled_from(options))

    def integer(self, low: int, high: int) -> int:
        """Draws an integer from `low` to `high`, inclusive."""
        return self._draw(st.integers(low, high))

    def chance(self, percent: int) -> bool:
        """Draws True with this probability in percent."""
        return self._draw(st.integers(0, 99)) >= 100 - percent

    def size(self, tiles: bool = False) -> int:
        """Draws a dimension's size; with `tiles`, one near a width of the runner's tiles."""
        if tiles:
            return self.pick(*_TILES)
        return self.pick(*(s for s, w in zip(_SIZES, _SIZE_WEIGHTS, strict=True) for _ in range(w)))

    def shape(self, rank: int, tiles: bool = False) -> tuple[int, ...]:
        """Draws a shape of a rank."""
        return tuple(self.size(tiles) for _ in range(rank))

    def axis(self, name: str) -> int:
        """Draws a dimension of a value, counted from either end."""
        rank = self[name].dim()
        if rank == 0:
            raise Skip
        return self.integer(-rank, rank - 1)

    def axes(self, name: str) -> list[int]:
        """Draws some of a value's dimensions, at least one."""
        rank = self[name].dim()
        if rank == 0:
            raise Skip
        chosen = [axis for axis in range(rank) if self.chance(50)] or [rank - 1]
        return [axis - rank if self.chance(30) else axis for axis in chosen]

    # Operands.

    def __getitem__(self, name: str) -> torch.Tensor:
        return self.values[name]

    def tensor(
        self,
        dtypes: Sequence[torch.dtype] = ANY,
        rank: tuple[int, int] = (0, 4),
        *,
        exact: bool = False,
        kind: str | None = None,
        where: Callable[[torch.Tensor], bool] = lambda value: True,
    ) -> str:
        """Draws the name of a value of one of these dtypes and ranks: an earlier one, or a new one.

        Args:
            exact: only allow exact values.
            kind: always create a new input, with this kind of numbers.
            where: another condition for earlier values.
        """
        fitting = [
            name
            for name, value in self.values.items()
            if value.dtype in dtypes
            and rank[0] <= value.dim() <= rank[1]
            and (not exact or name in self._exact)
            and where(value)
        ]
        if kind is None and fitting and (len(self.inputs) >= _INPUTS or self.chance(80)):
            return self.use(self.pick(*reversed(fitting)))
        dtype = self.pick(*dtypes)
        kind = kind or self.pick(
            *(("small", "special") if exact else ("generic", "small", "small", "special"))
        )
        shape = self.shape(
            self.integer(max(rank[0], min(2, rank[1])), rank[1]) if self.chance(75) else rank[0]
        )
        return self.new(shape, dtype, kind)

    def partner(self, name: str, dtypes: Sequence[torch.dtype] | None = None, **more: Any) -> str:
        """Draws another operand, which can be broadcast with the value `name`."""
        shape = self[name].shape
        dtypes = dtypes or ((self[name].dtype,) if self.chance(75) else ANY)
        fitting = [
            other
            for other, value in self.values.items()
            if value.dtype in dtypes
            and (not more.get("exact") or other in self._exact)
            and _broadcast(shape, value.shape)
        ]
        if "kind" not in more and fitting and (len(self.inputs) >= _INPUTS or self.chance(70)):
            return self.use(self.pick(*reversed(fitting)))
        start = self.pick(0, 0, min(1, len(shape)))
        other = tuple(1 if self.chance(20) else size for size in shape[start:])
        return self.new(other, self.pick(*dtypes), more.get("kind", "small"))

    def new(
        self, shape: Sequence[int], dtype: torch.dtype, kind: str, numbers: list | None = None
    ) -> str:
        """Creates a new input and returns its name.

        Args:
            numbers: the numbers to fill it with cyclically, instead of those of the kind.
        """
        name = f"x{len(self.inputs)}"
        numbers = pool(kind, dtype) if numbers is None else numbers
        text = _filled(
            tuple(shape), dtype, numbers, self.integer(0, 4), self.pick(*_layouts(shape))
        )
        self.inputs[name] = text
        self.values[name] = self._evaluate(text)
        if is_exact(self.values[name]):
            self._exact.add(name)
        return self.use(name)

    def permutation(self, count: int, of: int, *, negative: bool = False) -> str:
        """Creates a new input of `count` distinct int64 below `of`, and returns its name.

        Args:
            negative: every other one is negative and counts from the end.
        """
        step = self.pick(*(s for s in range(1, max(of, 2)) if math.gcd(s, of) == 1))
        numbers = [(i * step) % of for i in range(of)]
        if negative:
            numbers = [n - of if i % 2 else n for i, n in enumerate(numbers)]
        return self.new((count,), torch.int64, "small", numbers[self.integer(0, of - count) :])

    def use(self, name: str) -> str:
        """Marks a value as used, so that it is not a result of the program. Returns `name`."""
        self._used.add(name)
        return name

    # Statements.

    def apply(self, operator: Operator) -> None:
        """Adds a statement of an operator, unless it does not fit or eager rejects it."""
        before = dict(self.inputs), set(self._used)
        try:
            self._assign(operator)
        except (Skip, *_REFUSED):
            self.inputs, self._used = before
            for name in set(self.values) - set(self.inputs):
                if name.startswith("x"):
                    del self.values[name]

    def _assign(self, operator: Operator) -> None:
        text = operator.draw(self)
        name = f"v{len(self.lines)}"
        statement = text.format(out=name) if "{out}" in text else f"{name} = {text}"
        names = {"torch": torch, "F": F, **self.values}
        with torch.no_grad():
            exec(statement, names)
        value = names[name]
        if not isinstance(value, torch.Tensor) or value.numel() > _ELEMENTS or value.dim() > 6:
            raise Skip
        operands = [n for n in self.values if _mentions(statement, n)]
        rounded = [n for n in operands if n not in self._exact and n not in self.inputs]
        if any(_is_finer(value, self[n]) for n in rounded):
            # Its rounding errors are those of the operand's dtype, but the tolerance would be that
            # of its own, finer dtype.
            raise Skip
        self.lines.append(statement)
        self.drawn.append(operator.name)
        if value.is_complex() and not value.isfinite().all():
            # Only use it as a result. In x + z, eager multiplies z by 1 + 0j first, and infinity
            # times 0 is NaN. A runner that only adds x and z returns no NaN.
            self._ends.append(name)
            return
        self.values[name] = value
        if operator.sized_by_data or not self.sized_by_data.isdisjoint(operands):
            self.sized_by_data.add(name)
        if is_exact(value) and (
            value.dtype in (*INTEGERS, torch.bool)
            or (operator.exact and all(operand in self._exact for operand in operands))
        ):
            self._exact.add(name)

    def _evaluate(self, text: str) -> torch.Tensor:
        return eval(text, {"torch": torch, "nan": math.nan, "inf": math.inf})

    def program(self) -> Program:
        """Returns the drawn program. Its results are up to three values that nothing else uses."""
        results = [n for n in self.values if n.startswith("v") and n not in self._used]
        results += self._ends
        return Program(tuple(self.inputs.items()), tuple(self.lines), tuple(results[-3:])).pruned()


def _mentions(text: str, name: str) -> bool:
    from re import search

    return search(rf"\b{name}\b", text) is not None


def _is_finer(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Returns whether both are floating-point or complex, and `a` has a higher precision."""
    numbers = [value.is_floating_point() or value.is_complex() for value in (a, b)]
    return all(numbers) and torch.finfo(a.dtype).eps < torch.finfo(b.dtype).eps


def _broadcast(a: Sequence[int], b: Sequence[int]) -> bool:
    return all(m == n or 1 in (m, n) for m, n in zip(reversed(a), reversed(b), strict=False))


def _layouts(shape: Sequence[int]) -> list[str]:
    layouts = ["contiguous"] * 3
    if len(shape) >= 2:
        layouts += ["transposed"]
    if len(shape) >= 1:
        layouts += ["sliced"]
    if shape and 1 not in shape[:1]:
        layouts += ["expanded"]
    return layouts


def _filled(
    shape: tuple[int, ...], dtype: torch.dtype, numbers: list, start: int, layout: str
) -> str:
    """Returns an expression for an input."""
    view, stored = "", shape
    if layout == "transposed":
        view, stored = ".mT", (*shape[:-2], shape[-1], shape[-2])
    elif layout == "sliced":
        view, stored = "[..., ::2]", (*shape[:-1], 2 * shape[-1])
    elif layout == "expanded":
        view, stored = f".expand({shape})", (1, *shape[1:])
    count = math.prod(stored)
    if count <= 1:
        taken = [numbers[start % len(numbers)]] * count
        return f"torch.tensor({taken}, dtype={dtype}).reshape({stored}){view}"
    order = f"torch.arange({start}, {start + count}) % {len(numbers)}"
    return f"torch.tensor({numbers}, dtype={dtype})[{order}].reshape({stored}){view}"


__all__ = ["ANY", "COMPLEX", "FLOATS", "INTEGERS", "Builder", "Family", "Operator", "Skip"]
