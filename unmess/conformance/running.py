"""Runs cases on a backend, in processes of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import unmess
from pipelines.backends.finding import find_backend, identity_of
from pipelines.backends.parts import reported
from pipelines.backends.table import BUILT_IN, REGISTERED
from unmess.conformance.levels import ConformanceCase
from unmess.conformance.operators import groups
from unmess.conformance.operators.outcomes import Failure, outcomes, outcomes_alone
from unmess.conformance.result import Result, status_of
from unmess.core.cache.own_sources import digest_of
from unmess.core.errors.error import Error
from unmess.core.processes.threads import in_threads
from unmess.core.processes.workers import Died, Parent, each_in_workers
from unmess.isolated import Options, check_together

# Seconds for a case of level 1 or 2, for a model of level 3 or 4.
_CASE_SECONDS = 120.0
_MODEL_SECONDS = 1800.0
# The number of cases for one worker process if each case is compiled alone.
_TOGETHER = 8


@dataclass(frozen=True)
class _Group:
    """Cases of one level that run in one worker process."""

    level: int
    cases: tuple[ConformanceCase, ...]


def about(on: str) -> dict[str, Any]:
    """Returns the description of a backend for reports, as plain data for JSON.

    Raises:
        Error: stage `usage`; there is no such backend, it does not run here, or other processes
            cannot find it.
    """
    if on in REGISTERED and on not in BUILT_IN:
        raise Error(
            "usage",
            f"{on} is registered in this process, and cases run in others",
            hint="name its file: FILE.py:NAME",
        )
    backend = find_backend(on)
    with reported(backend, "usage"):
        has_device = not hasattr(backend, "devices") or bool(backend.devices())
        description = str(backend.describe()) if hasattr(backend, "describe") else ""
        identity = identity_of(backend, on)
    # Without a device or a program of the commands, each case would fail for the same reason.
    if not has_device:
        raise Error(
            "usage",
            f"{backend.name} reports no device",
            hint="connect one, or correct the backend's devices()",
        )
    return {
        "backend": backend.name,
        "on": on,
        "describe": description,
        "identity": identity,
        "tolerances": dict(getattr(backend, "tolerances", {})),
        "numerics": str(getattr(backend, "numerics", "")),
        # The code of the lowering and of the cases.
        "unmess": digest_of("importers", "pipelines", "unmess/core", "unmess/conformance"),
        "torch": _version("torch"),
        "torch-mlir": _version("torch-mlir"),
    }


def run_cases(
    parent: Parent, cases: Sequence[ConformanceCase], on: str, jobs: int
) -> Iterator[Result]:
    """Runs cases, and yields each result as soon as it is available.

    Args:
        parent: starts the worker processes.
        jobs: groups of cases that run at the same time.
    """
    together = find_backend(on).input.several_entries
    functions = _RUN if together else {**_RUN, 1: _run_operators_alone}
    return in_threads(
        _groups(cases, together),
        lambda group: functions[group.level](parent, group.cases, on),
        jobs,
    )


def _groups(cases: Sequence[ConformanceCase], together: bool) -> Iterator[_Group]:
    operators = {case.content: case for case in cases if case.level == 1}
    if together:
        # Compiling many together is faster than one by one.
        for group in groups():
            members = tuple(operators[case] for case in group if case in operators)
            if members:
                yield _Group(1, members)
    else:
        yield from _chunks(1, list(operators.values()))
    yield from _chunks(2, [case for case in cases if case.level == 2])
    for case in cases:
        if case.level > 2:
            yield _Group(case.level, (case,))


def _chunks(level: int, cases: Sequence[ConformanceCase]) -> Iterator[_Group]:
    for start in range(0, len(cases), _TOGETHER):
        yield _Group(level, tuple(cases[start : start + _TOGETHER]))


def _run_operators(parent: Parent, cases: Sequence[ConformanceCase], on: str) -> Iterable[Result]:
    found = outcomes(
        [case.content for case in cases], [on], timeout=_CASE_SECONDS * len(cases), parent=parent
    )
    for case, outcome in zip(cases, found, strict=True):
        yield _result(case, outcome[on])


def _run_operators_alone(
    parent: Parent, cases: Sequence[ConformanceCase], on: str
) -> Iterable[Result]:
    found = outcomes_alone([case.content for case in cases], on, _CASE_SECONDS, parent)
    for case, failure in zip(cases, found, strict=True):
        yield _result(case, failure)


def _run_programs(parent: Parent, cases: Sequence[ConformanceCase], on: str) -> Iterable[Result]:
    items = [(case.content, on) for case in cases]
    found = each_in_workers(parent, items, program_failure, _CASE_SECONDS)
    for case, failure in zip(cases, found, strict=True):
        if isinstance(failure, Died):
            failure = Failure("crash", failure.cause)
        yield _result(case, failure)


def _run_models(parent: Parent, cases: Sequence[ConformanceCase], on: str) -> Iterable[Result]:
    options = Options(timeout=_MODEL_SECONDS)
    for case in cases:
        for row in check_together(parent, [(case.content, (on,))], options, jobs=1):
            yield _result(case, None if row.ok else Failure(row.stage, row.error or ""))


_RUN: dict[int, Callable[..., Iterable[Result]]] = {
    1: _run_operators,
    2: _run_programs,
    3: _run_models,
    4: _run_models,
}


def program_failure(item: tuple[Any, str]) -> Failure | None:
    """Compares a random program with eager. Called in a worker process."""
    import torch

    from unmess.compare import compare_results
    from unmess.conformance.programs.check import executed
    from unmess.core.program.eager import copied
    from unmess.difference import changed_arguments, tolerated

    program, on = item
    torch.set_num_threads(1)
    model, args = executed(program)
    try:
        captured = unmess.capture(model, args)
        run = unmess.load(captured, on=on)
        # For eager, in case the backend writes to its arguments.
        given = copied(args)
        result = run(*args)
    except Error as problem:
        return Failure(problem.stage, problem.cause)
    differences = tolerated(compare_results(model, given, {}, result), run.tolerances)
    differences += changed_arguments((given, {}), (args, {}))
    wrong = next((each for each in differences if not each.ok), None)
    return None if wrong is None else Failure("compare", f"{wrong.name}: {wrong.cause}")


def _result(case: ConformanceCase, failure: Failure | None) -> Result:
    stage, cause = (None, None) if failure is None else (failure.stage, failure.cause)
    status = status_of(stage, cause)
    return Result(
        case.name, case.level, case.category, case.dtype, case.dynamic, status, stage, cause
    )


def _version(package: str) -> str:
    from importlib.metadata import version

    return version(package)
