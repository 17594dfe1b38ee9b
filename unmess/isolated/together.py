"""Checks several models at the same time, each in its own workers."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence

from unmess.core.processes.threads import in_threads
from unmess.core.processes.workers import Parent
from unmess.isolated.checking import check_isolated
from unmess.isolated.options import Options, Place
from unmess.row import Row


def check_together(
    parent: Parent,
    work: Iterable[tuple[str, Sequence[str | Place]]],
    options: Options,
    jobs: int,
    *,
    on_stage: Callable[[str, str, str | None], None] = lambda _model, _stage, _runner: None,
    on_output: Callable[[str], None] = lambda _line: None,
) -> Iterator[Row]:
    """Checks models on runners, and yields each row when it is finished.

    The results are those of `check_isolated`. Times are longer, since models share the processors.

    Args:
        parent: starts the workers. Closing it ends the work.
        work: models, each with its runners, as for `check_isolated`.
        jobs: number of models to check at the same time.
        on_stage: called with a model, the stage that begins, and the runner, if there is one yet.
        on_output: called with each line that a worker prints. Both are called by other threads.
    """

    def check_model(each: tuple[str, Sequence[str | Place]]) -> Iterator[Row]:
        model, runners = each
        return check_isolated(
            parent,
            model,
            runners,
            options,
            on_stage=functools.partial(on_stage, model),
            on_output=on_output,
        )

    return in_threads(work, check_model, jobs)
