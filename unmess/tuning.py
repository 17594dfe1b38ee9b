"""Finds the options of IREE's compiler, or the runner, that make a program fastest here."""

from __future__ import annotations

import copy
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import torch

from pipelines.backends.executable import Executable
from pipelines.backends.loading import load
from pipelines.backends.table import AUTO
from pipelines.iree.presets import PRESETS, check_preset, keep_tuned
from pipelines.iree.targets import target as target_of
from pipelines.iree.vm_module import program_key
from unmess.automatic_runner import keep_runner
from unmess.compare_entries import compare_program
from unmess.core.errors.error import Error
from unmess.core.errors.failure import only_errors
from unmess.core.options.target_options import TargetOptions
from unmess.core.processes.current_stage import enter_stage
from unmess.core.program.program import Program
from unmess.core.program.programs import Programs

RUNNER, REFERENCE = "iree-cpu", "reference"
# Each candidate is called at least `_CALLS` times, and until its calls have taken `_SECONDS`. Small
# programs reach `_MOST_CALLS` first: further calls hardly change the median.
_CALLS, _MOST_CALLS, _SECONDS = 5, 500, 1.0
# A candidate is timed no further if its median is at least this many times the best one's.
_HOPELESS = 3.0


@dataclass
class Candidate:
    """The measurement of one preset or runner on one program.

    Attributes:
        preset: its name; None for the reference runner.
        runner: the runner.
        ok: whether the result matches eager.
        problem: why it does not match, or why there is no result; one line, else None.
        compile_seconds: the duration of the compiler; 0 if the cache had the result.
        times: seconds of each call.
        kept: whether `unmess.load` uses it from now on.
    """

    preset: str | None
    ok: bool = False
    problem: str | None = None
    compile_seconds: float = 0.0
    times: list[float] = field(default_factory=list)
    kept: bool = False
    runner: str = RUNNER

    @property
    def name(self) -> str:
        """The preset, or else the runner."""
        return self.preset or self.runner

    @property
    def seconds(self) -> float | None:
        """The median of a call; None if none was timed."""
        return statistics.median(self.times) if self.times else None


@only_errors()
def tune(
    program: Program | Programs,
    target: TargetOptions | None = None,
    presets: Sequence[str] = tuple(PRESETS),
    progress: Callable[[str], None] = lambda text: None,
    on: str = RUNNER,
) -> list[Candidate]:
    """Compiles a program with each preset, compares it with eager, and times calls in turn.

    From then on, `unmess.load` uses the fastest preset whose result matches, for this program,
    target and processor, as long as the cache keeps it. The program counts as another one if lines
    of the model's source have moved, or unmess has changed.

    Args:
        target: which hardware `iree-cpu` compiles for; its preset is ignored.
        presets: names of the presets to try, at least one.
        progress: called with a description of each step.
        on: `iree-cpu`, or `auto` to time the reference runner, too. `unmess.load(…, on="auto")`
            then uses the fastest runner.

    Returns:
        The candidates, the fastest first; those whose results do not match are last.

    Raises:
        Error: stage `usage`, for no preset or an unknown one, or another runner; `import`, or
            `compare`, where no candidate gives eager's result.
    """
    if on not in (RUNNER, AUTO):
        raise Error("usage", f"there is nothing to tune on {on}", hint=f"use {RUNNER} or {AUTO}")
    if not presets:
        raise Error("usage", "there is no preset to try", hint=f"pass some of {', '.join(PRESETS)}")
    for preset in presets:
        check_preset(preset)
    target = target or TargetOptions()
    enter_stage("import")
    module = program.to_module()
    candidates = [Candidate(preset) for preset in presets]
    if on == AUTO:
        candidates.append(Candidate(None, runner=REFERENCE))
    executables: dict[str, Executable] = {}
    for candidate in candidates:
        progress(candidate.name)
        try:
            executable = load(module, candidate.runner, replace(target, preset=candidate.preset))
            candidate.compile_seconds = executable.seconds.get("compile", 0.0)
            report = compare_program(program, executable, calls=0)
        except Error as problem:
            candidate.problem = f"{problem.stage}: {problem.cause}"
            continue
        candidate.ok, candidate.problem = report.ok, report.error
        if report.ok:
            executables[candidate.name] = executable
    enter_stage("run")
    right = [candidate for candidate in candidates if candidate.ok]
    if not right:
        what = "preset" if on == RUNNER else "runner"
        raise Error(
            "compare",
            f"no {what} gives the same result as eager: {candidates[0].problem}",
            hint=f"run `unmess check --on {RUNNER}` for details",
        )
    _time(program, right, executables, progress)
    right.sort(key=lambda candidate: candidate.seconds)
    chosen = target_of(RUNNER, replace(target, preset=None))
    best = next((candidate for candidate in right if candidate.runner == RUNNER), None)
    if best is not None:
        key = program_key(module, RUNNER, chosen)
        best.kept = keep_tuned(key, best.preset, RUNNER, module.name)
    if on == AUTO:
        right[0].kept = keep_runner(module, target, right[0].runner)
    return right + [candidate for candidate in candidates if not candidate.ok]


def _time(
    program: Program | Programs,
    candidates: list[Candidate],
    executables: dict[str, Executable],
    progress: Callable[[str], None],
) -> None:
    """Times the candidates in turn, so that other load on the machine affects all alike."""
    waiting = list(candidates)
    while waiting:
        for candidate in waiting:
            progress(f"{candidate.name}, call {len(candidate.times) + 1}")
            candidate.times.append(_call(program, executables[candidate.name]))
        best = min(candidate.seconds for candidate in candidates)
        waiting = [
            candidate
            for candidate in waiting
            if len(candidate.times) < _CALLS
            or (
                len(candidate.times) < _MOST_CALLS
                and sum(candidate.times) < _SECONDS
                and candidate.seconds < _HOPELESS * best
            )
        ]


def _call(program: Program | Programs, executable: Executable) -> float:
    """Returns the seconds of one call of each entry point, in sum, on the example arguments."""
    seconds = 0.0
    for entry, own in program.entries.items():
        run = executable[entry]
        args, kwargs = copy.deepcopy((own.args, own.kwargs))
        with torch.no_grad():
            start = time.perf_counter()
            run(*args, **kwargs)
            seconds += time.perf_counter() - start
    return seconds
