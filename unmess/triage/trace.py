"""A model as a list of calls, with the recorded value of each. Triage reduces this list.

This module does not import PyTorch.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from typing import Any


@dataclass(frozen=True)
class Reference:
    """An argument of a call: the value of that name."""

    name: str


@dataclass(frozen=True)
class Code:
    """An argument of a call that is written as this Python expression, such as `torch.float32`."""

    text: str


@dataclass(frozen=True)
class Value:
    """A value that was recorded in eager PyTorch.

    Attributes:
        name: an identifier.
        expression: Python code that makes the value; None if no code can. Such a value cannot be an
            input of a smaller program.
        shape, dtype: of a tensor; None for other values.
        is_weight: whether it is a parameter, a buffer or a constant of the model.
        dynamic: the names of size symbols by axis.
        literal: code of a small tensor with its elements; None for others.
        file: where a tensor is stored.
    """

    name: str
    expression: str | None = None
    shape: tuple[int, ...] | None = None
    dtype: str | None = None
    is_weight: bool = False
    dynamic: tuple[tuple[int, str], ...] = ()
    literal: str | None = None
    file: str | None = None

    @property
    def is_tensor(self) -> bool:
        """Whether the value is a tensor."""
        return self.shape is not None


@dataclass(frozen=True)
class Call:
    """A call of a function.

    Attributes:
        value: the result.
        function: Python code of the function, such as `torch.ops.aten.relu.default`.
        args, kwargs: the arguments: lists, tuples and dicts of `Reference`, `Code` and literals.
        operator: the name for people, such as `aten.relu.default`.
        where: the user's source line.
        definitions: Python code that the call needs at the top of a file.
        part_of: the name of the tuple that this call takes an element from, else None.
    """

    value: Value
    function: str
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)
    operator: str = ""
    where: str | None = None
    definitions: str | None = None
    part_of: str | None = None

    @property
    def operands(self) -> set[str]:
        """The names of the values that the call uses."""
        return set(references([self.args, self.kwargs]))

    @property
    def is_uninitialized(self) -> bool:
        """Whether the result is new memory, whose contents are not defined."""
        return any(part.startswith(("empty", "new_empty")) for part in self.operator.split("."))


@dataclass(frozen=True)
class Trace:
    """A program without control flow: calls in order.

    Attributes:
        inputs: values that come from outside: arguments and weights.
        outputs: the names of the results.
    """

    inputs: tuple[Value, ...]
    calls: tuple[Call, ...]
    outputs: tuple[str, ...]

    @property
    def operators(self) -> int:
        """The number of calls, without those that only take an element from a tuple."""
        return sum(call.part_of is None for call in self.calls)

    def static(self) -> Trace:
        """Returns the program without dynamic dimensions."""
        calls = (replace(call, value=replace(call.value, dynamic=())) for call in self.calls)
        inputs = (replace(value, dynamic=()) for value in self.inputs)
        return Trace(tuple(inputs), tuple(calls), self.outputs)

    def units(self) -> list[tuple[int, ...]]:
        """Returns the positions of calls that stay together: a tuple, and what takes elements."""
        units: dict[str, list[int]] = {}
        for position, call in enumerate(self.calls):
            units.setdefault(call.part_of or call.value.name, []).append(position)
        return [tuple(unit) for unit in units.values()]

    def cut(self, kept: Collection[int]) -> Trace | None:
        """Returns the program of some of the calls, by position.

        Values of the other calls become inputs. Values that the other calls use, or that nothing
        uses, become results.

        Returns:
            None if a value cannot be an input.
        """
        kept = set(kept)
        inside = [call for position, call in enumerate(self.calls) if position in kept]
        outside = [call for position, call in enumerate(self.calls) if position not in kept]
        known = {value.name: value for value in self.inputs}
        known |= {call.value.name: call.value for call in self.calls}
        own = [call.value.name for call in inside]
        used = {name for call in inside for name in call.operands}
        wanted = {name for call in outside for name in call.operands} | set(self.outputs)
        inputs = tuple(known[name] for name in known if name in used and name not in own)
        if any(value.expression is None for value in inputs):
            return None
        outputs = tuple(name for name in own if name in wanted or name not in used)
        tensors = tuple(name for name in outputs if known[name].is_tensor)
        return Trace(inputs, tuple(inside), tensors or outputs)

    def with_outputs(self, outputs: Collection[str]) -> Trace:
        """Returns the program with these results only, without calls that no result needs."""
        needed, kept = set(outputs), []
        for position in reversed(range(len(self.calls))):
            call = self.calls[position]
            if call.value.name in needed:
                needed |= call.operands
                kept.append(position)
        calls = tuple(self.calls[position] for position in reversed(kept))
        inputs = tuple(value for value in self.inputs if value.name in needed)
        return Trace(inputs, calls, tuple(outputs))


def references(tree: Any) -> Iterator[str]:
    """Yields the names of the values in arguments."""
    if isinstance(tree, Reference):
        yield tree.name
    elif isinstance(tree, (list, tuple)):
        for item in tree:
            yield from references(item)
    elif isinstance(tree, dict):
        yield from references(list(tree.values()))
    elif isinstance(tree, slice):
        yield from references([tree.start, tree.stop, tree.step])
