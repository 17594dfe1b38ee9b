"""Builds IR as text, line by line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager


class Code:
    """A builder of IR text. Values are names; an index is a name or a number."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._count = 0
        self._constants: dict[str, str] = {}
        self._memory: list[tuple[str, str]] = []
        self._start = 0

    def __str__(self) -> str:
        return "\n".join(self._lines)

    def name(self) -> str:
        """Returns a new name for a value."""
        self._count += 1
        return f"%v{self._count}"

    def add(self, line: str) -> None:
        """Adds a line."""
        self._lines.append(line)

    def value(self, operation: str) -> str:
        """Adds an operation and returns its result."""
        result = self.name()
        self._lines.append(f"{result} = {operation}")
        return result

    def begin(self) -> None:
        """Makes `constant` and `memory` insert definitions at the current line."""
        self._start = len(self._lines)

    def memory(self, type: str) -> str:
        """Returns a new memref of static shape, which exists until `free`."""
        result = self.name()
        self._lines.insert(
            self._start, f"{result} = memref.alloc() {{alignment = 64 : i64}} : {type}"
        )
        self._memory.append((result, type))
        return result

    def free(self) -> None:
        """Frees what `memory` has returned."""
        for value, type in self._memory:
            self.add(f"memref.dealloc {value} : {type}")

    def constant(self, literal: str, type: str) -> str:
        """Returns the constant of this literal and type, which is defined only once."""
        key = f"{literal} : {type}"
        if key not in self._constants:
            result = self.name()
            self._lines.insert(self._start, f"{result} = arith.constant {key}")
            self._constants[key] = result
        return self._constants[key]

    def index(self, value: int | str) -> str:
        """Returns the name of an index, which may be a number."""
        return self.constant(str(value), "index") if isinstance(value, int) else value

    def sum(self, terms: Sequence[tuple[int | str, int]], constant: int = 0) -> int | str:
        """Returns the sum of index * factor over all terms, plus a constant."""
        constant += sum(value * factor for value, factor in terms if isinstance(value, int))
        names = [(value, factor) for value, factor in terms if isinstance(value, str)]
        if not names:
            return constant
        if len(names) == 1 and names[0][1] == 1 and constant == 0:
            return names[0][0]
        inputs = ", ".join(f"d{position}" for position in range(len(names)))
        total = " + ".join(f"d{position} * {factor}" for position, (_, factor) in enumerate(names))
        operands = ", ".join(value for value, _ in names)
        return self.value(
            f"affine.apply affine_map<({inputs}) -> ({total} + {constant})>({operands})"
        )

    @contextmanager
    def loop(self, first: int | str, last: int | str, step: int = 1) -> Iterator[int | str]:
        """Emits a loop, or only its body if it runs once. Yields the loop's index."""
        if isinstance(first, int) and isinstance(last, int) and first < last <= first + step:
            yield first
            return
        counter = self.name()
        bounds = f"{self.index(first)} to {self.index(last)} step {self.index(step)}"
        self.add(f"scf.for {counter} = {bounds} {{")
        yield counter
        self.add("}")

    @contextmanager
    def accumulate(
        self, first: int | str, last: int | str, state: list[str], type: str
    ) -> Iterator[tuple[int | str, list[str]]]:
        """Emits a loop that carries values.

        Yields its index and a list of the values, in which the body puts the new ones. Afterwards
        `state` holds the values of the last iteration.
        """
        if isinstance(first, int) and last == first + 1:
            yield first, state
            return
        counter = self.name()
        inner = [self.name() for _ in state]
        result = self.name()
        given = ", ".join(f"{name} = {value}" for name, value in zip(inner, state, strict=True))
        types = ", ".join([type] * len(state))
        self.add(
            f"{result}:{len(state)} = scf.for {counter} = {self.index(first)} to "
            f"{self.index(last)} step {self.index(1)} iter_args({given}) -> ({types}) {{"
        )
        yield counter, inner
        self.add(f"scf.yield {', '.join(inner)} : {types}")
        self.add("}")
        state[:] = [f"{result}#{position}" for position in range(len(state))]
