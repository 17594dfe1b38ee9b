"""Describes an operator and how far it lowers. Workers try it; this module imports no PyTorch."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from unmess.core.errors.error import Error
from unmess.core.errors.failure import only_errors
from unmess.core.errors.stages import OUTPUT_DIALECTS
from unmess.core.processes.workers import Died, Parent, each_in_workers

_DTYPES = ("float32", "int64")
_TIMEOUT = 120.0
# Functions given by name, because their module imports PyTorch.
_LOOK_UP = "unmess.probe.trying:look_up"
_ATTEMPT = "unmess.probe.trying:attempt"


@dataclass(frozen=True)
class Trial:
    """An operator on example arguments of one dtype.

    Attributes:
        dtype: dtype of the tensors.
        arguments: the arguments as text; None if the operator accepted no example.
        imports: whether it reaches the stage `raw`.
        decomposes: whether the captured program has other operators in its place.
        into: the operators in the captured program.
        lowers: whether it lowers to each output dialect, by the dialect's name.
        causes: why it stops, by stage.
    """

    dtype: str
    arguments: str | None = None
    imports: bool = False
    decomposes: bool = False
    into: list[str] = field(default_factory=list)
    lowers: dict[str, bool] = field(default_factory=lambda: dict.fromkeys(OUTPUT_DIALECTS, False))
    causes: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Description:
    """An operator: `name` as users can write it, its schema, its packet's overloads, trials."""

    name: str
    schema: str
    overloads: list[str]
    trials: list[Trial]


@only_errors()
def describe(parent: Parent, name: str) -> Description:
    """Looks up an operator and tries it.

    Args:
        parent: starts the workers.
        name: `aten::add.Tensor`, `aten.add.Tensor` or, for the first overload, `aten::add`.

    Raises:
        Error: stage `usage`, with near matches; there is no such operator.
    """
    (found,) = each_in_workers(parent, [name], _LOOK_UP, _TIMEOUT)
    if isinstance(found, Died):
        raise Error("import", f"cannot look up {name}: {found.cause}")
    if isinstance(found, Error):
        raise found
    operator, spelled, schema, overloads = found
    jobs = [(operator, dtype, to) for dtype in _DTYPES for to in ("raw", *OUTPUT_DIALECTS)]
    answers = list(each_in_workers(parent, jobs, _ATTEMPT, _TIMEOUT))
    per_dtype = len(OUTPUT_DIALECTS) + 1
    trials = [
        _trial(operator, dtype, answers[index * per_dtype : (index + 1) * per_dtype])
        for index, dtype in enumerate(_DTYPES)
    ]
    return Description(spelled, schema, overloads, trials)


def _trial(operator: str, dtype: str, answers: list[dict[str, Any] | Died]) -> Trial:
    found = next((answer for answer in answers if isinstance(answer, dict)), None)
    if found is None or found["arguments"] is None:
        return Trial(dtype)
    raw, *rest = answers
    causes = {}
    for to, answer in zip(("raw", *OUTPUT_DIALECTS), answers, strict=True):
        if isinstance(answer, Died):
            causes.setdefault(to, answer.cause)
        elif "stage" in answer:
            causes.setdefault(answer["stage"], answer["cause"])
    return Trial(
        dtype,
        arguments=found["arguments"],
        imports=_reached(raw),
        decomposes=bool(found["into"]) and operator not in found["into"],
        into=found["into"],
        lowers={to: _reached(answer) for to, answer in zip(OUTPUT_DIALECTS, rest, strict=True)},
        causes=causes,
    )


def _reached(answer: dict[str, Any] | Died) -> bool:
    return isinstance(answer, dict) and "stage" not in answer
