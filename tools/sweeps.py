"""Runs cases of operators in groups and stores their results, for tools that write tables."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeElapsedColumn

from unmess.conformance.operators.outcomes import Outcome
from unmess.core.processes.workers import Parent
from unmess.row import Row
from unmess.row_log import appending, write_row

# The number of cases that are compiled together.
_TOGETHER = 24

# The latest row by case and column; a column is a runner, or what takes its place.
Results = dict[tuple[str, str], Row]


def add_options(parser: argparse.ArgumentParser, cases: str) -> None:
    """Adds the options of a sweep over `cases`, such as "samples", in several processes."""
    add_result_options(parser, cases)
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))


def add_result_options(parser: argparse.ArgumentParser, cases: str) -> None:
    """Adds the options that select which results are kept, computed again, or only reported."""
    parser.add_argument("--results", type=Path, help="default: under the cache folder")
    parser.add_argument(
        "--again",
        choices=("failed", "all"),
        help=f"run these {cases} again, even if there is a result",
    )
    parser.add_argument(
        "--report", action="store_true", help="write the page from the stored results only"
    )


def add_model_options(parser: argparse.ArgumentParser, default: str) -> None:
    """Adds the options of a sweep over models, one process each.

    Args:
        default: the models that are run without MODEL, for the help.
    """
    parser.add_argument(
        "models", nargs="*", metavar="MODEL", help=f"model strings, in order (default: {default})"
    )
    add_result_options(parser, "models")
    parser.add_argument("--timeout", type=float, default=300, help="seconds for one model")
    parser.add_argument(
        "--memory", type=float, default=12_000, help="memory for one model, in 10**6 bytes"
    )


def run_missing(
    cases: Mapping[str, Any],
    columns: Sequence[str],
    run: Callable[..., list[Outcome]],
    libraries: Sequence[str],
    results: Results,
    file: Path,
    options: argparse.Namespace,
) -> None:
    """Runs cases that `results` lacks, and adds their rows to `results` and to the file.

    Args:
        cases: by name.
        run: returns the outcomes of a group of cases.
        libraries: modules that the workers need.
    """
    missing = [
        (name, case)
        for name, case in cases.items()
        if _is_missing([results.get((name, column)) for column in columns], options.again)
    ]
    groups = [missing[i : i + _TOGETHER] for i in range(0, len(missing), _TOGETHER)]
    file.parent.mkdir(parents=True, exist_ok=True)
    progress = Progress(
        BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), console=Console(stderr=True)
    )
    parent = Parent(tuple(libraries))
    pool = ThreadPoolExecutor(options.jobs)
    with parent, progress, appending(file) as log:
        task = progress.add_task("", total=len(missing))
        try:
            work = {pool.submit(run, [c for _, c in g], parent=parent): g for g in groups}
            for done in as_completed(work):
                for (name, _), outcome in zip(work[done], done.result(), strict=True):
                    for row in _rows(name, outcome):
                        results[row.model, row.runner] = row
                        write_row(log, row)
                progress.advance(task, len(work[done]))
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _is_missing(rows: Sequence[Row | None], again: str | None) -> bool:
    if again == "all" or None in rows:
        return True
    return again == "failed" and not all(row.ok for row in rows)


def _rows(name: str, outcome: Outcome) -> Iterator[Row]:
    for runner, failure in outcome.items():
        if failure is None:
            yield Row(name, runner, ok=True, stage="done")
        else:
            cause = failure.cause.partition(" (pass ")[0]
            yield Row(name, runner, ok=False, stage=failure.stage, error=cause)
