"""Compares programs on the reference runner with eager. A crash only fails one program."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from unittest import mock

import torch

import unmess
from pipelines import attention_blocks
from pipelines.reference import pipeline
from pipelines.reference.steps import rows, splitting
from unmess.compare import compare_results
from unmess.conformance.programs.program import Program
from unmess.core.processes.workers import Died, each_in_workers
from unmess.core.program.eager import copied
from unmess.difference import changed_arguments
from unmess.isolated import shared_parent

_SECONDS = 120.0
# The number of threads for programs that are compiled as if they were large.
_THREADS = 2


class Batch(torch.nn.Module):
    """Several programs in one module, because one compilation is faster than many."""

    def __init__(self, models: Sequence[torch.nn.Module]):
        super().__init__()
        self.models = torch.nn.ModuleList(models)

    def forward(self, calls):
        return [model(*args) for model, args in zip(self.models, calls, strict=True)]


class Checked:
    """A cache of the results of checks, because hypothesis repeats programs when it shrinks.

    Args:
        as_large: as for `failures`.
    """

    def __init__(self, as_large: bool = False) -> None:
        self._as_large = as_large
        self._causes: dict[Program, str | None] = {}

    @property
    def count(self) -> int:
        """The number of distinct programs with the same results as in eager."""
        return sum(cause is None for cause in self._causes.values())

    def expect_none_wrong(self, programs: Sequence[Program]) -> None:
        """Fails with the text of the first program whose results differ from eager's."""
        new = list(dict.fromkeys(p for p in programs if p not in self._causes))
        if new and not any(map(self._causes.get, programs)):
            found = failures(new, self._as_large)
            self._causes |= {program: found.get(program) for program in new}
        for program in programs:
            if cause := self._causes.get(program):
                raise AssertionError(f"{cause}\n\n{program.source}")


def failures(programs: Sequence[Program], as_large: bool = False) -> dict[Program, str]:
    """Returns the cause for each program whose results differ from eager's.

    Args:
        as_large: compile small operations as if they were large: optimized, vectorized, and split
            among threads.
    """
    function = _causes_as_large if as_large else _causes
    (causes,) = each_in_workers(shared_parent(), [programs], function, _SECONDS)
    if not isinstance(causes, Died):
        return {program: cause for program, cause in zip(programs, causes, strict=True) if cause}
    if len(programs) == 1:
        return {programs[0]: causes.cause}
    middle = len(programs) // 2
    found = failures(programs[:middle], as_large) | failures(programs[middle:], as_large)
    if not found:
        raise AssertionError(
            f"together, but not alone: {causes.cause}\n" + "\n".join(p.source for p in programs)
        )
    return found


def _causes_as_large(programs: Sequence[Program]) -> list[str | None]:
    with (
        mock.patch.object(pipeline, "deserves_schedule", lambda operation, calls: True),
        mock.patch.object(pipeline, "optimization_level", lambda module: 2),
        mock.patch.object(rows, "LITTLE", 0),
        mock.patch.object(rows, "SHORT", 1),
        mock.patch.object(splitting, "ENOUGH", 1),
        mock.patch.object(attention_blocks, "FEW_ROWS", 1),
        mock.patch.object(attention_blocks, "IN_PARALLEL", attention_blocks.Limits(1, 1, 2)),
    ):
        return _causes(programs, _THREADS)


def _causes(programs: Sequence[Program], threads: int = 1) -> list[str | None]:
    """Returns the cause of each program's failure, or None. Runs them alone if a batch fails.

    Args:
        threads: the number of threads on the runner.
    """
    warnings.simplefilter("ignore")
    # Eager's sums depend on the number of threads.
    torch.set_num_threads(1)
    models, calls = zip(*(executed(program) for program in programs), strict=True)
    calls = list(calls)
    try:
        program = unmess.capture(Batch(models), (calls,))
        # For eager, in case the runner writes to its arguments.
        given = copied(calls)
        torch.set_num_threads(threads)
        results = unmess.load(program, on="reference")(calls)
    except Exception as problem:
        if len(programs) == 1:
            return [_described(problem)]
        return [cause for program in programs for cause in _causes([program], threads)]
    torch.set_num_threads(1)
    return [
        next((f"{d.name}: {d.cause}" for d in differences if not d.ok), None)
        for model, args, after, result in zip(models, given, calls, results, strict=True)
        for differences in [
            compare_results(model, args, {}, result) + changed_arguments((args, {}), (after, {}))
        ]
    ]


def executed(program: Program) -> tuple[torch.nn.Module, tuple[torch.Tensor, ...]]:
    """Returns the module and the arguments of a program, by running its text."""
    names: dict = {}
    exec(program.source, names)
    return names["model"]()


def _described(problem: Exception) -> str:
    if isinstance(problem, unmess.Error):
        return f"Error: {problem.stage}: {problem.cause}"
    return f"no Error, but {type(problem).__name__}: {problem}"
