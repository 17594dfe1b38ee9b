"""Runs a cached program with IREE's runtime and NumPy, without PyTorch."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from unmess import describe
from unmess.cli.cached import Cached
from unmess.core.processes.current_stage import enter_stage
from unmess.core.signature.tree import flatten
from unmess.program_cache.bundles import Choice, example_call, find_bundle, make_bundle
from unmess.program_cache.entry import Entry


@dataclass(frozen=True)
class Done:
    """The outcome that `unmess run` reports.

    Attributes:
        leaves: descriptions of the result's leaves, as `describe.result` returns them.
        notes: how the program differs from the given model.
        seconds: the duration of each step, without the calls.
        times: the duration of each call after the first, in seconds.
    """

    leaves: list[dict[str, Any]]
    notes: tuple[str, ...]
    seconds: dict[str, float]
    times: list[float]

    @property
    def median(self) -> float | None:
        """The median duration of the timed calls, in seconds; None if there are none."""
        return statistics.median(self.times) if self.times else None


def run(cached: Cached, choice: Choice, entry: str | None, repeat: int) -> Done | None:
    """Runs the bundle of a program, and makes the bundle if there is none.

    Returns:
        The outcome; None if the program is not cached or no bundle can be made for it.

    Raises:
        Error: the stage that failed.
    """
    start = time.perf_counter()
    found, bundle = cached.entry, None
    seconds: dict[str, float] = {}
    if isinstance(found, Entry) and (bundle := find_bundle(found, choice)) is not None:
        cached.say_found()
        seconds = {"capture": 0.0, "import": 0.0, "lower": 0.0, "compile": 0.0}
    else:
        captured = cached.found()
        if captured.entry is None:
            return None
        found = captured.entry
        start = time.perf_counter()
        bundle = make_bundle(found, captured.program, choice, seconds)
        if bundle is None:
            return None
        start += seconds["import"] + seconds["lower"] + seconds["compile"]
    name = entry or next(iter(bundle.signatures))
    run = bundle[name]
    seconds["load"] = time.perf_counter() - start
    enter_stage("run")
    args, kwargs = example_call(found, bundle, name)
    result, times = timed(lambda: run(*args, **kwargs), repeat)
    leaves = flatten(bundle.signatures[name].out_spec, result, "the result")
    return Done(
        leaves=describe.arrays(paths(found, name), leaves),
        notes=bundle.manifest.notes,
        seconds=seconds,
        times=times,
    )


def timed(call: Callable[[], Any], repeat: int) -> tuple[Any, list[float]]:
    """Returns the result of a call, and the seconds of each of `repeat` further calls."""
    result, times = call(), []
    for _ in range(repeat):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return result, times


def paths(found: Entry, entry: str | None) -> list[str]:
    """Returns the path of each result leaf of an entry point, in the model's own containers."""
    entries = found.about["entries"]
    return entries[entry or next(iter(entries))]["paths"]
