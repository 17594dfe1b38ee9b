"""Runs the cases of a group on the runners and compares the results with eager.

Capturing a small program is cheap, compiling is not. The programs of a group therefore become the
entry points of one module per runner. If the module does not compile, its halves are tried, down
to single programs. If the process crashes or hangs, the halves of the group are tried. So a failure
of one case does not affect the others.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils import _pytree as pytree

import unmess
from importers.recipes.limits import Limit
from pipelines.backends.finding import find_backend
from unmess.conformance.operators.case import RUNNERS, Case
from unmess.conformance.operators.difference import difference, sample_difference
from unmess.core.errors.error import first_line
from unmess.core.errors.quiet import quiet_libraries
from unmess.core.processes.workers import Died, Parent, each_in_workers
from unmess.core.program.eager import copied
from unmess.core.program.program import Program
from unmess.difference import changed_arguments
from unmess.further_sizes import further_calls
from unmess.isolated import shared_parent

# Seconds for a group, on a computer that also does other work.
_TIMEOUT = 400.0
# The number of elements in a sample of random results, and the maximum number of its calls.
_RANDOM_NUMBERS = 4000
_RANDOM_CALLS = 100


@dataclass(frozen=True)
class Failure:
    """Why a case failed.

    `stage` is a stage of `unmess.Error`, or `compare`, `crash` or `eager`.
    """

    stage: str
    cause: str

    def __str__(self) -> str:
        return f"{self.stage}: {self.cause}"


Outcome = Mapping[str, Failure | None]


def outcomes(
    cases: Sequence[Case],
    runners: Sequence[str] = RUNNERS,
    via: str | None = None,
    timeout: float = _TIMEOUT,
    parent: Parent | None = None,
) -> list[Outcome]:
    """Returns the Failure of each case by runner, or None if it matches eager.

    Args:
        via: the output dialect whose IR runs. None: the runner's own lowering.
        timeout: seconds for all cases together.
        parent: the process that starts the workers. None: the shared one.
    """
    work = functools.partial(_outcomes, runners=runners, via=via)
    return isolated_outcomes(cases, work, runners, timeout, parent)


def isolated_outcomes(
    cases: Sequence[Case],
    work: Callable[[Sequence[Case]], list[Outcome]],
    runners: Sequence[str],
    timeout: float = _TIMEOUT,
    parent: Parent | None = None,
) -> list[Outcome]:
    """Returns `work(cases)`, computed in a worker. A crash or a hang is the Failure of one case.

    Args:
        work: returns the outcome of each case; can be pickled.
        runners: the keys of each outcome.
        timeout: seconds for all cases together.
        parent: the process that starts the workers. None: the shared one.
    """
    (found,) = each_in_workers(parent or shared_parent(), [cases], work, timeout)
    if not isinstance(found, Died):
        return found
    if len(cases) == 1:
        return [_died(found, runners)]
    middle = len(cases) // 2
    halves = (cases[:middle], cases[middle:])
    return [
        each for half in halves for each in isolated_outcomes(half, work, runners, timeout, parent)
    ]


def outcomes_alone(
    cases: Sequence[Case], runner: str, timeout: float, parent: Parent
) -> Iterator[Failure | None]:
    """Yields the Failure of each case, or None if it matches eager. Compiles each case alone.

    Args:
        timeout: seconds for each case.
    """
    work = functools.partial(_outcomes, runners=[runner], via=None)
    for found in each_in_workers(parent, [[case] for case in cases], work, timeout):
        (outcome,) = [_died(found, [runner])] if isinstance(found, Died) else found
        yield outcome[runner]


def _died(found: Died, runners: Sequence[str]) -> Outcome:
    return dict.fromkeys(runners, Failure("crash", found.cause))


def _outcomes(cases: Sequence[Case], runners: Sequence[str], via: str | None) -> list[Outcome]:
    quiet_libraries()
    # Eager's sums depend on the number of threads.
    torch.set_num_threads(1)
    programs = {f"case_{number}": _captured(case) for number, case in enumerate(cases)}
    names = dict(zip(programs, cases, strict=True))
    results: dict[str, dict[str, Failure | None]] = {name: {} for name in names}
    for runner in runners:
        sound = {name: p for name, p in programs.items() if isinstance(p, Program)}
        # Compile a program alone if it is known not to compile, or failed to for another runner, or
        # if the backend takes no module with several entry functions.
        takes_several = find_backend(runner).input.several_entries
        alone = [
            name
            for name in sound
            if not takes_several
            or (via is None and _stops_before_it_runs(names[name].limit_on(runner)))
            or any(map(_stops_before_it_runs, results[name].values()))
        ]
        loaded = _all_loaded(sound, alone, runner, via)
        is_random = any(names[name].accuracy.samples for name in sound)
        twins = _all_loaded(sound, alone, runner, via) if is_random else loaded
        # The entry points of a module share the state of the random numbers. Another case may draw
        # numbers without an effect on its results. That would change the state here, but not in the
        # twin, so random cases run first.
        for name in sorted(loaded, key=lambda name: not names[name].accuracy.samples):
            executable = loaded[name]
            results[name][runner] = (
                executable
                if isinstance(executable, Failure)
                else _compared(names[name], programs[name], executable, twins[name])
            )
        for name in programs.keys() - sound.keys():
            results[name][runner] = programs[name]
    return list(results.values())


def _all_loaded(
    programs: Mapping[str, Program], alone: Sequence[str], runner: str, via: str | None
) -> dict[str, Any]:
    """Returns the executable of each program, or its Failure. Compiles those in `alone` alone."""
    together = {name: program for name, program in programs.items() if name not in alone}
    each = ({name: programs[name]} for name in alone)
    return dict(pair for some in (together, *each) for pair in _loaded(some, runner, via))


def _captured(case: Case) -> Program | Failure:
    try:
        return unmess.capture(case.module(), case.tensors(), dynamic_shapes=case.dynamic_shapes())
    except Exception as problem:
        failure = failure_of(problem)
    try:
        case.module()(*case.tensors())
    except Exception as problem:
        return Failure("eager", first_line(problem))
    return failure


def _stops_before_it_runs(stopped: Limit | Failure | None) -> bool:
    return stopped is not None and stopped.stage not in ("run", "compare")


def _loaded(programs: Mapping[str, Program], runner: str, via: str | None) -> Iterator[tuple]:
    """Yields the name of each program with its executable or Failure."""
    if not programs:
        return
    try:
        module = unmess.combine(programs)
        together = unmess.load(module if via is None else unmess.lower(module, to=via), on=runner)
    except Exception as problem:
        if len(programs) == 1:
            yield next(iter(programs)), failure_of(problem)
            return
        names = list(programs)
        for half in (names[: len(names) // 2], names[len(names) // 2 :]):
            yield from _loaded({name: programs[name] for name in half}, runner, via)
        return
    for name in programs:
        yield name, together[name]


def _compared(case: Case, program: Program, executable: Any, twin: Any) -> Failure | None:
    """Compares a case with eager.

    Args:
        twin: the same program, loaded again and called as often; only random cases call it.
    """
    if case.accuracy.samples:
        return _sampled(case, program, executable, twin)
    calls = [(program.args, "")]
    calls += [(case.tensors(args), " with other values") for args in case.calls]
    try:
        for call in further_calls(program):
            sizes = ", ".join(f"{name}={size}" for name, size in call.sizes.items())
            calls.append((call.args, f" at {sizes}"))
        for args, place in calls:
            # For eager, in case the executable writes to its arguments.
            given = copied(args)
            problem = difference(
                case.module(),
                given,
                executable(*args),
                case.accuracy,
                executable.numerics,
                case.comparable,
                executable.tolerances,
            )
            if problem:
                return Failure("compare", problem + place)
            if changed := changed_arguments((given, {}), (args, {})):
                return Failure("compare", f"{changed[0].name}: {changed[0].cause}{place}")
    except Exception as problem:
        return failure_of(problem)
    return None


def _sampled(case: Case, program: Program, executable: Any, twin: Any) -> Failure | None:
    """Checks that each call draws new numbers, with eager's distribution, and as the twin does."""
    try:
        sample, again = [executable(*program.args)], [twin(*program.args)]
        size = sum(x.numel() for x in pytree.tree_leaves(sample[0]))
        for _ in range(max(2, min(_RANDOM_NUMBERS // max(size, 1), _RANDOM_CALLS)) - 1):
            sample.append(executable(*program.args))
            again.append(twin(*program.args))
        problem = sample_difference(case.module(), program.args, sample, case.comparable)
    except Exception as problem:
        return failure_of(problem)
    if problem is None and all(_same(sample[0], other) for other in sample[1:]):
        problem = "all calls give the same numbers"
    if problem is None and not all(map(_same, again, sample)):
        problem = "another Executable gives other numbers"
    return Failure("compare", problem) if problem else None


def _same(some: Any, other: Any) -> bool:
    pairs = zip(pytree.tree_leaves(some), pytree.tree_leaves(other), strict=True)
    return all(torch.equal(a.nan_to_num(), b.nan_to_num()) for a, b in pairs)


def failure_of(problem: Exception) -> Failure:
    """Returns the Failure of a case whose capture, compilation or run raises an exception."""
    if isinstance(problem, unmess.Error):
        return Failure(problem.stage, problem.cause)
    return Failure("crash", f"no Error, but {first_line(problem)}")
