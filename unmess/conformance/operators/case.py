"""The cases of the operator table, and the short notation of the tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any

import torch
from torch.utils import _pytree as pytree

from importers.recipes.limits import Limit, known_limits
from pipelines.backends.table import DEFAULT_RUNNERS
from unmess.conformance.operators.tensors import TensorSpec, parse

LIMITS_FILE = Path(__file__).with_name("limits.yaml")
LIMITS = known_limits(LIMITS_FILE)
RUNNERS = DEFAULT_RUNNERS
_ROOTS = {"torch": torch, "F": torch.nn.functional, "Tensor": torch.Tensor}
# The range of a dynamic size.
_SIZES = {"min": 1, "max": 64}


@dataclass(frozen=True, eq=False)
class Case:
    """A call of an operator that is compared with eager.

    Attributes:
        category: the category of the table.
        operator: the operator, as users write it.
        args, kwargs: the arguments of the call. A `TensorSpec` stands for a tensor.
        function: the function to capture.
        accuracy: the required accuracy of results.
        calls: argument lists of further calls of the captured program.
    """

    category: str
    operator: str
    args: tuple
    kwargs: dict[str, Any]
    function: Callable[..., Any]
    accuracy: Accuracy
    calls: tuple[tuple, ...] = ()

    def __str__(self) -> str:
        # A tensor made for a single case, such as an index, is shown as `tensor`.
        texts = [_spelled(value) for value in self.args]
        texts += [f"{name}={_spelled(value)}" for name, value in self.kwargs.items()]
        return f"{self.operator}({', '.join(texts)})"

    def __reduce__(self):
        # The function may be a lambda, which cannot be pickled.
        return named_case, (str(self),)

    @property
    def limits(self) -> tuple[Limit, ...]:
        """The known limits of the case."""
        return LIMITS.get(str(self), ())

    def limit_on(self, runner: str) -> Limit | None:
        """Returns the known limit of the case on `runner`, or None."""
        return next((limit for limit in self.limits if limit.holds_for(runner)), None)

    @property
    def specs(self) -> list[TensorSpec]:
        """The tensors among the arguments."""
        return _specs(self.args)

    def tensors(self, args: tuple | None = None) -> tuple[torch.Tensor, ...]:
        """Returns the arguments of the captured module, with the same values each time.

        Args:
            args: the arguments of another call. None: those of the case.
        """
        specs = _specs(self.args if args is None else args)
        return tuple(spec.tensor(number) for number, spec in enumerate(specs))

    def dynamic_shapes(self) -> tuple | None:
        """Returns the module's dynamic shapes for `unmess.capture`, or None if all are static."""
        names = {name for spec in self.specs for name in spec.dynamic.values()}
        dims = {name: torch.export.Dim(name, **_SIZES) for name in sorted(names)}
        if not dims:
            return None
        return (
            tuple({axis: dims[name] for axis, name in spec.dynamic.items()} for spec in self.specs),
        )

    def module(self) -> torch.nn.Module:
        """Returns the call as a module that takes its tensors."""
        return _Call(self.function, self.args, self.kwargs).eval()

    def comparable(self, result: Any) -> Any:
        """Returns the part of a result to compare: all of it."""
        return result


# The cases of the table by their text. The package adds them when it is imported.
NAMED: dict[str, Case] = {}


def named_case(name: str) -> Case:
    """Returns the case of the table whose text is `name`."""
    return NAMED[name]


def _specs(args: Any) -> list[TensorSpec]:
    return [leaf for leaf in pytree.tree_leaves(args) if isinstance(leaf, TensorSpec)]


class _Call(torch.nn.Module):
    def __init__(self, function: Callable[..., Any], args: tuple, kwargs: dict[str, Any]):
        super().__init__()
        self.function = function
        self.args = args
        self.kwargs = kwargs

    def forward(self, *tensors):
        given = iter(tensors)
        args = pytree.tree_map_only(TensorSpec, lambda _spec: next(given), self.args)
        return self.function(*args, **self.kwargs)


@dataclass(frozen=True)
class Accuracy:
    """The required accuracy of floating-point results. A backend may declare a larger tolerance.

    Attributes:
        units: the allowed difference, in units in the last place of the expected element.
        against_float64: None compares with eager's result. `each` and `worst` compare with the
            result computed in float64. They also allow a multiple of eager's own error: that of
            each element, or that of the worst one.
        samples: whether results are random, and only their distribution is compared.
        relative: an additional allowed difference, relative to each element.
        of_largest: an additional allowed difference, in units in the last place of the largest
            element.
        signed_zeros: whether zeros must have eager's sign. Eager's maximum of two zeros is either
            one, depending on their place in memory.
    """

    units: float
    against_float64: str | None = None
    signed_zeros: bool = True
    samples: bool = False
    relative: float = 0.0
    of_largest: float = 0.0


# Results that are rounded once or not at all: moved, compared or selected elements.
EXACT = Accuracy(0)
# The result is one of the operands. Zeros of either sign count as equal.
CHOICE = Accuracy(0, signed_zeros=False)
# Elementwise functions.
EACH = Accuracy(4, "each")
# Each element depends on many others, which may be summed in any order.
SUMS = Accuracy(4, "worst")
# Random results.
SAMPLES = Accuracy(0, samples=True)


class C:
    """The arguments of a case that takes more than a single tensor.

    A string that `parse` accepts stands for a tensor, also in a list.
    """

    def __init__(self, *args: Any, calls: tuple = (), **kwargs: Any):
        """Stores the arguments. `calls` has those of further calls of the captured program."""
        self.args = args
        self.kwargs = kwargs
        self.calls = calls


class Table:
    """The cases of a category."""

    def __init__(self, category: str, accuracy: Accuracy):
        self.category = category
        self.accuracy = accuracy
        self._cases: list[Case] = []

    def __iter__(self) -> Iterator[Case]:
        return iter(self._cases)

    def op(
        self,
        operator: str,
        *cases: str | C,
        function: Callable[..., Any] | None = None,
        accuracy: Accuracy | None = None,
    ) -> None:
        """Adds cases of an operator.

        Args:
            operator: its name, such as `torch.exp`, `F.relu` or `Tensor.view`, or an expression
                if `function` is given.
            cases: the arguments of each case. A string stands for a single tensor.
            accuracy: by default that of the category.
        """
        for case in cases:
            case = C(case) if isinstance(case, str) else case
            self._cases.append(
                Case(
                    self.category,
                    operator,
                    _parsed(case.args),
                    case.kwargs,
                    function or _resolve(operator),
                    accuracy or self.accuracy,
                    tuple(map(_parsed, case.calls)),
                )
            )


def _resolve(operator: str) -> Callable[..., Any]:
    root, *path = operator.split(".")
    return reduce(getattr, path, _ROOTS[root])


def _parsed(args: tuple) -> tuple:
    return pytree.tree_map_only(str, lambda text: parse(text) or text, args)


def _spelled(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        brackets = "[{}]" if isinstance(value, list) else "({})"
        return brackets.format(", ".join(map(_spelled, value)))
    if isinstance(value, torch.Tensor):
        return "tensor"
    return str(value)
