"""Lists the operators of a model that lower to an output dialect, and those that do not.

A worker captures the model and tries its operators, since native code may crash. This module
does not import PyTorch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.pool import RemoteTraceback
from typing import Any

from unmess.core.errors.error import Error
from unmess.core.errors.failure import only_errors
from unmess.core.processes.workers import Parent

_TIMEOUT = 60.0
# Given by name, because its module imports PyTorch.
_EXAMINE = "unmess.probe.examining:examine"


@dataclass(frozen=True)
class Finding:
    """An operator of a program, and whether it lowers.

    Attributes:
        operator: PyTorch's name, such as `aten.add.Tensor`.
        count: the number of calls with these shapes, dtypes and constants.
        operands, results: tensors as `2x3xfloat32`; a dynamic size is `?`.
        where: the user's source lines.
        ok: whether it lowers.
        stage, cause, repro: where it stops, why in one line, and a file that reproduces it; None if
            it lowers.
        decomposition: a decomposition in PyTorch whose result lowers, or None.
    """

    operator: str
    count: int
    operands: list[str]
    results: list[str]
    where: list[str]
    ok: bool
    stage: str | None
    cause: str | None
    repro: str | None
    decomposition: str | None


@only_errors()
def examine(
    parent: Parent,
    capture: dict[str, Any],
    to: str,
    *,
    verbose: bool = False,
    on_stage: Callable[[str], None] = lambda _stage: None,
    on_call: Callable[[str, int, int], None] = lambda _operator, _number, _total: None,
) -> tuple[list[Finding], list[str]]:
    """Tries every distinct call of an operator in a model, each as a program of its own.

    Args:
        parent: starts the workers.
        capture: arguments of `unmess.captured.captured`.
        to: a stage, `torch` or later.
        verbose: let libraries print warnings and logs.
        on_stage: called with each stage that begins before the calls are tried.
        on_call: called with the operator, its number and how many there are.

    Returns:
        A finding for each call, those that do not lower first; and the notes of the capture.

    Raises:
        Error: stage `usage`, `source` or `capture`; also if the worker crashes there.
    """
    # Answers by index, for the worker that continues after a crash.
    answers: dict[int, dict[str, Any]] = {}
    while True:
        stage, index = "source", None
        with parent.start(_EXAMINE, capture, to, answers, verbose, stdout=2, stderr=2) as worker:
            for kind, *facts in worker.messages():
                if kind == "stage":
                    (stage,) = facts
                    on_stage(stage)
                elif kind == "call":
                    index, operator, number, total = facts
                    on_call(operator, number, total)
                    worker.allow(_TIMEOUT)
                elif kind == "answer":
                    answers[index] = facts[0]
                    worker.allow(None)
                elif kind == "error":
                    error, text = facts
                    raise error from RemoteTraceback(text)
                else:
                    return facts[0], facts[1]
        if index is None or index in answers:
            raise Error(stage, worker.death or "the worker ended", hint=worker.hint)
        outcome = {"ok": False, "stage": to, "cause": worker.death, "repro": None}
        answers[index] = {**outcome, "decomposition": None}
