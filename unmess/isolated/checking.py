"""Checks a model in a worker process, so that a crash in native code affects one row only.

The worker captures the model once and runs all runners. It reports each stage as it begins, and
each row as it is finished. If it dies or takes too long, the error names the stage reported last. A
fresh worker then writes the input IR of that stage to a file, and another one continues with the
remaining runners.

This module does not import PyTorch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from importers.sources.model_string import check_model_string
from unmess.core.errors.error import Error
from unmess.core.processes.workers import Parent
from unmess.isolated.child import Child
from unmess.isolated.options import INPUT, SHARED, Options, Place
from unmess.row import Row


def check_isolated(
    parent: Parent,
    model: str,
    runners: Sequence[str | Place],
    options: Options,
    *,
    on_stage: Callable[[str, str | None], None],
    on_output: Callable[[str], None],
) -> Iterator[Row]:
    """Checks a model on each of `runners`, and yields each row when it is finished.

    An invalid model string starts no worker. Closing the iterator ends the worker.

    Args:
        parent: starts the workers; `libraries_of` returns the modules for it.
        model: a model string.
        runners: names, or pairs of a name and an output dialect. All are checked with the same
            capture.
        on_stage: called with each stage that begins, and the runner that it is for; the runner is
            None until there is a program.
        on_output: called with each line that the worker prints to stdout or stderr.
    """
    remaining = [(each, options.via) if isinstance(each, str) else each for each in runners]
    try:
        check_model_string(model)
    except Error as error:
        for runner, via in remaining:
            yield Row.failed(model, runner, error, via=via)
        return
    while remaining:
        with Child(parent, model, options, places=remaining) as child:
            for row in child.rows(on_stage, on_output):
                remaining.remove((row.runner, row.via))
                yield row
        if child.death is None:
            return
        cause = f"{child.death} in stage {child.stage}"
        repro = None
        if child.stage in INPUT:
            runner, via = remaining[0]
            crash = {"stage": child.stage, "runner": runner, "via": via, "cause": cause}
            with Child(parent, model, options, crash=crash) as reproducer:
                # The reproducer sends no rows, and the first worker has printed the same output.
                list(reproducer.rows(lambda _stage, _runner: None, lambda _line: None))
            repro = reproducer.repro
        error = Error(child.stage, cause, hint=child.hint, repro=repro)
        affected = list(remaining) if child.stage in SHARED else remaining[:1]
        for place in affected:
            remaining.remove(place)
            yield child.last_row(*place, error)
