"""Reduces a failing model to a reproducer in a folder. This module does not import PyTorch."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import psutil

from unmess.core.processes.workers import Parent
from unmess.isolated.options import Options
from unmess.triage.finding import Finding
from unmess.triage.folder import Folder
from unmess.triage.running import RunFile, in_interpreter
from unmess.triage.search import Search
from unmess.triage.trials import Trials

# The part of the available memory that one program may use.
_MEMORY = 0.8


def triage(
    parent: Parent,
    model: str,
    runner: str,
    options: Options,
    seconds: float,
    folder: Path,
    *,
    numerics: bool = False,
    on_trial: Callable[[str], None] = lambda _text: None,
    run_file: RunFile = in_interpreter,
) -> tuple[Finding | None, bool]:
    """Finds out why a model fails, and writes a reproducer.

    An interruption (Ctrl-C) or the end of the time keeps the smallest program so far.

    Args:
        parent: starts the workers.
        model: a model string.
        runner: the runner to check on.
        options: of the check. `timeout` limits the check of the model itself; by default a third of
            the time. `memory_mb` is by default most of the available memory.
        seconds: the time for the search.
        folder: where to write the files.
        numerics: for a wrong result, find the first wrong value and its origin.
        on_trial: called with a text before each check.
        run_file: runs the reproducer, to see whether it shows the failure.

    Returns:
        The finding, None if the model's results match eager; and whether it was interrupted.

    Raises:
        Error: stage `usage` or `source`, if there is no model to check.
        OSError: the folder cannot be written.
    """
    limited = replace(
        options,
        timeout=options.timeout or seconds / 3,
        memory_mb=options.memory_mb or psutil.virtual_memory().available / 1e6 * _MEMORY,
    )
    interrupted = False
    with tempfile.TemporaryDirectory(prefix="unmess-triage-") as scratch:
        trials = Trials(parent, runner, limited, Path(scratch), seconds, on_trial)
        search = Search(trials, model)
        if search.failure is None:
            return None, False
        try:
            search.run(numerics)
        except KeyboardInterrupt:
            interrupted = True
        run = None if interrupted else run_file
        return Folder(folder, search, trials, run).write(), interrupted
