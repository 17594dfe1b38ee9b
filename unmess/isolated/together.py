"""Checks several models at the same time, each in its own workers."""

from __future__ import annotations

import functools
import queue
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence

from unmess.core.processes.workers import Parent
from unmess.isolated.checking import check_isolated
from unmess.isolated.options import Options
from unmess.row import Row


def check_together(
    parent: Parent,
    work: Iterable[tuple[str, Sequence[str]]],
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
        work: models, each with its runners.
        jobs: number of models to check at the same time.
        on_stage: called with a model, the stage that begins, and the runner, if there is one yet.
        on_output: called with each line that a worker prints. Both are called by other threads.
    """
    waiting: queue.SimpleQueue[tuple[str, Sequence[str]]] = queue.SimpleQueue()
    for each in work:
        waiting.put(each)
    # Each item is a row, an exception that ended a thread, or None from a thread that finished.
    done: queue.SimpleQueue[Row | BaseException | None] = queue.SimpleQueue()
    stopped = threading.Event()

    def check_models() -> None:
        try:
            while not stopped.is_set():
                model, runners = waiting.get_nowait()
                rows = check_isolated(
                    parent,
                    model,
                    runners,
                    options,
                    on_stage=functools.partial(on_stage, model),
                    on_output=on_output,
                )
                for row in rows:
                    done.put(row)
        except queue.Empty:
            done.put(None)
        except BaseException as problem:
            done.put(problem)

    threads = [threading.Thread(target=check_models, daemon=True) for _ in range(jobs)]
    for thread in threads:
        thread.start()
    left = len(threads)
    try:
        while left:
            result = done.get()
            if isinstance(result, BaseException):
                raise result
            if result is None:
                left -= 1
            else:
                yield result
    finally:
        stopped.set()
