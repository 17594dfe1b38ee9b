"""Checks a model in a process of its own, so that a crash in native code costs one row.

The child captures the model once and runs all runners. It reports each stage as it begins, and
each row as it is finished, as JSON lines on a pipe of their own: stdout and stderr belong to
whatever code the model runs. When the child dies or takes too long, the stage reported last is the
one to blame, a fresh child writes the IR that went into that stage to a file, and another one goes
on with the remaining runners.

Neither side imports PyTorch before the child's work begins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from unmess.core.error import Error
from unmess.core.row import Row
from unmess.isolated.child import Child
from unmess.isolated.options import INPUT, SHARED, Options

__all__ = ["Options", "check_isolated"]


def check_isolated(
    model: str,
    runners: Sequence[str],
    options: Options,
    *,
    on_stage: Callable[[str, str | None], None],
    on_output: Callable[[str], None],
) -> Iterator[Row]:
    """Checks a model on each of `runners`, and yields each row when it is finished.

    Closing the iterator ends the process at work.

    Args:
        model: a model string.
        on_stage: called with each stage that begins, and the runner that it is for; the runner is
            None until there is a program.
        on_output: called with each line that the process prints to stdout or stderr.
    """
    remaining = list(runners)
    while remaining:
        with Child(model, options, runners=remaining) as child:
            for row in child.rows(on_stage, on_output):
                remaining.remove(row.runner)
                yield row
        if child.death is None:
            return
        cause = f"{child.death} in stage {child.stage}"
        repro = None
        if child.stage in INPUT:
            crash = {"stage": child.stage, "runner": remaining[0], "cause": cause}
            with Child(model, options, crash=crash) as reproducer:
                # No rows come from it, and what it prints has been seen.
                list(reproducer.rows(lambda _stage, _runner: None, lambda _line: None))
            repro = reproducer.repro
        error = Error(child.stage, cause, hint=child.hint, repro=repro)
        affected = list(remaining) if child.stage in SHARED else remaining[:1]
        for runner in affected:
            remaining.remove(runner)
            yield child.last_row(runner, error)
