"""What a case of the table is, and the short form in which the tables are written."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, reduce
from pathlib import Path
from typing import Any

import torch
from torch.utils import _pytree as pytree

from importers.recipes.limits import Limit, known_limits
from operator_cases.tensors import TensorSpec, parse

LIMITS_FILE = Path(__file__).with_name("limits.yaml")
LIMITS = known_limits(LIMITS_FILE)
RUNNERS = ("reference", "iree-cpu")
_ROOTS = {"torch": torch, "F": torch.nn.functional, "Tensor": torch.Tensor}
# Sizes that a dynamic dimension takes.
_SIZES = {"min": 1, "max": 64}


@dataclass(frozen=True, eq=False)
class Case:
    """A call of an operator that is compared with eager.

    Attributes:
        category: of the table.
        operator: as users write it.
        args, kwargs: of the call; a `TensorSpec` stands for a tensor.
        function: what is captured.
        accuracy: as of `op`.
        calls: further argument lists, with which the captured program is called as well.
    """

    category: str
    operator: str
    args: tuple
    kwargs: dict[str, Any]
    function: Callable[..., Any]
    accuracy: Accuracy
    calls: tuple[tuple, ...] = ()

    def __str__(self) -> str:
        # A tensor made for one case alone, such as an index, is not spelled out.
        texts = [_spelled(value) for value in self.args]
        texts += [f"{name}={_spelled(value)}" for name, value in self.kwargs.items()]
        return f"{self.operator}({', '.join(texts)})"

    def __reduce__(self):
        # Its function may be a lambda, which has no name in another process.
        return named_case, (str(self),)

    @property
    def limits(self) -> tuple[Limit, ...]:
        """Where it is known to stop."""
        return LIMITS.get(str(self), ())

    def limit_on(self, runner: str) -> Limit | None:
        """What stops the case on `runner`."""
        return next((limit for limit in self.limits if limit.holds_for(runner)), None)

    @property
    def specs(self) -> list[TensorSpec]:
        """The tensors among the arguments."""
        return _specs(self.args)

    def tensors(self, args: tuple | None = None) -> tuple[torch.Tensor, ...]:
        """What the captured module is called with, the same values each time.

        Args:
            args: of another call than the case's own.
        """
        specs = _specs(self.args if args is None else args)
        return tuple(spec.tensor(number) for number, spec in enumerate(specs))

    def dynamic_shapes(self) -> tuple | None:
        """As `unmess.capture` takes them for the module; None where all are static."""
        names = {name for spec in self.specs for name in spec.dynamic.values()}
        dims = {name: torch.export.Dim(name, **_SIZES) for name in sorted(names)}
        if not dims:
            return None
        return (
            tuple({axis: dims[name] for axis, name in spec.dynamic.items()} for spec in self.specs),
        )

    def module(self) -> torch.nn.Module:
        """The call as a module of its tensors."""
        return _Call(self.function, self.args, self.kwargs).eval()

    def comparable(self, result: Any) -> Any:
        """What is compared of a result: all of it."""
        return result


@cache
def _cases_by_name() -> dict[str, Case]:
    from operator_cases import CASES

    return {str(case): case for case in CASES}


def named_case(name: str) -> Case:
    """Returns the case of the table whose text is `name`."""
    return _cases_by_name()[name]


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
    """How close floating-point results have to be.

    Attributes:
        units: in the last place, of what is compared with.
        against_float64: whether that is the result computed in float64, and what eager is from it
            is allowed in addition: of each element, or of the worst one.
        samples: whether results are random, and only their distribution is compared.
        relative: a difference that is allowed in addition, relative to each element.
        of_largest: the same, in units in the last place of the largest element.
        signed_zeros: whether zeros have eager's sign. Of two zeros, eager's own maximum is either
            one, by where in memory they are.
    """

    units: float
    against_float64: str | None = None
    signed_zeros: bool = True
    samples: bool = False
    relative: float = 0.0
    of_largest: float = 0.0


# Rounded once, or not at all: moved, compared, selected.
EXACT = Accuracy(0)
# One of the operands, of which zeros of either sign are equal.
CHOICE = Accuracy(0, signed_zeros=False)
# The function of each element.
EACH = Accuracy(4, "each")
# Each element depends on many, whose order of summation is open.
SUMS = Accuracy(4, "worst")
# Random.
SAMPLES = Accuracy(0, samples=True)


class C:
    """The arguments of a case, where there is more than one tensor.

    A string that `parse` knows is a tensor, also in a list.
    """

    def __init__(self, *args: Any, calls: tuple = (), **kwargs: Any):
        """Arguments; `calls` are those of further calls of what is captured."""
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
            operator: its name, `torch.exp`, `F.relu` or `Tensor.view`; or an expression, where
                `function` is given.
            cases: the arguments of each; a string for a single tensor.
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
