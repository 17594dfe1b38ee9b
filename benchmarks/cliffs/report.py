"""The tables: the slowest configurations, and counts by family."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from benchmarks.cliffs.configurations import FAMILIES, Configuration
from benchmarks.cliffs.store import Measurement

# A ratio above the second one is a cliff; one above the first one is measured twice.
SLOW, CLIFF = 2.0, 5.0
_CLASSES = (("under 1", 1.0), ("1 to 2", SLOW), ("2 to 5", CLIFF), ("above 5", float("inf")))
_NOT_TIMED = "not timed"
# The resolution of the clocks, in seconds.
_CLOCK = 1e-6


@dataclass(frozen=True)
class Result:
    """A configuration on one runner.

    Attributes:
        configuration, models: the operator, and the models in which it occurs.
        runner: the name of the runner.
        ratio: time relative to eager, without the time that a call of any program takes; the least
            one of several measurements. None if it was not timed. On one thread, it compares CPU
            times, which other load and waiting threads do not change. Otherwise it compares elapsed
            times.
        elapsed_ratio: the same for elapsed time.
        seconds, eager: the two times of a call that `ratio` compares.
        cause: why it was not timed.
    """

    configuration: Configuration
    models: tuple[str, ...]
    runner: str
    ratio: float | None = None
    elapsed_ratio: float | None = None
    seconds: float | None = None
    eager: float | None = None
    cause: str | None = None


def result_of(
    configuration: Configuration,
    models: Iterable[str],
    runner: str,
    measurements: Sequence[Measurement],
    threads: int,
) -> Result:
    """Returns the result of the measurements of a configuration, in the order of time.

    Args:
        threads: the number of threads of all sides.
    """
    result = Result(configuration, tuple(models), runner, cause="no measurement")
    for each in measurements:
        if runner not in each.runners:
            continue
        measured = _measured(result, each, runner, threads)
        is_lower = None not in (measured.ratio, result.ratio) and measured.ratio < result.ratio
        if not each.repeated or is_lower:
            result = measured
    return result


def _measured(result: Result, measurement: Measurement, runner: str, threads: int) -> Result:
    cause = measurement.skipped or measurement.failures.get(runner)
    if cause is not None:
        return Result(result.configuration, result.models, runner, cause=cause)
    own, eager = measurement.times[runner], measurement.times["eager"]
    call = measurement.call
    # The clock of a process may not advance during a short call.
    elapsed, cpu = (
        max(own[what] - (call[runner][what] - call["eager"][what]), 0) / max(eager[what], _CLOCK)
        for what in ("elapsed", "cpu")
    )
    what, ratio = ("cpu", cpu) if threads == 1 else ("elapsed", elapsed)
    return Result(
        result.configuration, result.models, runner, ratio, elapsed, own[what], eager[what]
    )


def print_report(results: Sequence[Result], threads: int, rows: int) -> None:
    """Prints the slowest configurations, the failed measurements, and counts by family.

    Args:
        rows: the greatest number of rows of each list.
    """
    timed = [each for each in results if each.ratio is not None]
    slow = sorted(
        (each for each in timed if each.ratio > SLOW), key=lambda each: each.ratio, reverse=True
    )
    print(f"{threads} threads; {len(results)} results, {len(slow)} above {SLOW:g} times eager\n")
    print("| ratio | of elapsed time | runner | eager | runner | configuration | models |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for each in slow[:rows]:
        others = f" and {len(each.models) - 1} more" if len(each.models) > 1 else ""
        print(
            f"| {each.ratio:.1f} | {each.elapsed_ratio:.1f} | {each.runner} "
            f"| {each.eager * 1e3:.3f} ms | {each.seconds * 1e3:.3f} ms "
            f"| {each.configuration} | {each.models[0]}{others} |"
        )
    failed = [each for each in results if each.ratio is None]
    print(f"\n{len(failed)} not timed")
    for each in failed[:rows]:
        print(f"- {each.runner}, {each.configuration}: {each.cause}")
    names = [name for name, _ in _CLASSES]
    print(f"\n| runner | family | {' | '.join([*names, _NOT_TIMED])} |")
    print(f"|{' --- |' * (len(names) + 3)}")
    for runner in dict.fromkeys(each.runner for each in results):
        for family in FAMILIES:
            own = [x for x in results if (x.runner, x.configuration.family) == (runner, family)]
            if own:
                counts = Counter(map(_class, own))
                cells = (str(counts[name]) for name in [*names, _NOT_TIMED])
                print(f"| {runner} | {family} | {' | '.join(cells)} |")


def _class(result: Result) -> str:
    if result.ratio is None:
        return _NOT_TIMED
    return next(name for name, limit in _CLASSES if result.ratio < limit)
