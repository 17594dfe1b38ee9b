"""Checks candidates in workers with limits, and remembers the smallest one that fails alike.

This module does not import PyTorch.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from unmess.core.errors.error import Error
from unmess.core.processes.workers import Parent
from unmess.isolated.child import Child
from unmess.isolated.options import Options
from unmess.row import Row
from unmess.triage.failure import Failure
from unmess.triage.program_text import program_text
from unmess.triage.trace import Trace

# The name of the file of a candidate.
CANDIDATE = "candidate.py"


class TimeUp(Exception):
    """The time for the search is over."""


@dataclass
class Trials:
    """Checks of programs on one runner, within a time limit.

    Attributes:
        folder: for the files of candidates.
        options: of all checks; `timeout` is the limit of one.
        seconds: the time for all of them.
        on_trial: called with a text before each check.
        count: the number of checks.
    """

    parent: Parent
    runner: str
    options: Options
    folder: Path
    seconds: float
    on_trial: Callable[[str], None] = lambda _text: None
    count: int = 0
    _known: dict[tuple[str, tuple[str, ...], str | None], Row] = field(default_factory=dict)
    _start: float = field(default_factory=time.monotonic)

    @property
    def left(self) -> float:
        """The seconds that are left."""
        return self._start + self.seconds - time.monotonic()

    def say(self, text: str) -> None:
        """Calls `on_trial` with a text and the time that is left."""
        self.on_trial(f"{text} ({max(self.left, 0):.0f} s left)")

    def extend(self, seconds: float) -> None:
        """Makes sure that this much time is left."""
        self.seconds += max(seconds - self.left, 0.0)

    def check(self, model: str, options: Options | None = None, runner: str | None = None) -> Row:
        """Checks a model string, and returns the row. A crash or a hang is a row, too.

        Args:
            options, runner: in place of those of all checks.

        Raises:
            TimeUp: no time is left.
        """
        options, runner = options or self.options, runner or self.runner
        left = self.left
        if left <= 0:
            raise TimeUp
        limit = options.timeout or left
        self.count += 1
        with Child(
            *(self.parent, model, replace(options, timeout=min(limit, left))),
            places=[(runner, options.via)],
        ) as child:
            rows = list(child.rows(lambda _stage, _runner: None, lambda _line: None))
        if rows:
            return rows[0]
        if "timed out" in (child.death or "") and left < limit:
            # The time of the search is over, which is less than the limit of the candidate.
            raise TimeUp
        error = Error(child.stage, f"{child.death} in stage {child.stage}", hint=child.hint)
        return child.last_row(runner, options.via, error)

    def check_trace(self, trace: Trace, about: str, runner: str | None = None) -> Row:
        """Checks the program of a trace. The answer for the same text is remembered.

        Args:
            about: for `on_trial`.
            runner: in place of that of all checks.
        """
        text, dynamic = program_text(trace), dynamic_of(trace)
        key = (text, dynamic, runner)
        if key not in self._known:
            operators = f"{trace.operators} operator{'s' * (trace.operators != 1)}"
            self.say(f"{about}: {operators}")
            model, options = self.program_of(trace)
            self._known[key] = self.check(model, options, runner)
        return self._known[key]

    def program_of(self, trace: Trace) -> tuple[str, Options]:
        """Writes the program of a trace, and returns its model string and the options for it."""
        file = self.folder / CANDIDATE
        file.write_text(program_text(trace))
        options = replace(self.options, inputs=(), only=None, dynamic=dynamic_of(trace))
        return f"{file}:model", options

    def failure_of(self, trace: Trace, about: str) -> Failure | None:
        """Returns the failure of the program of a trace; None if the check passes."""
        return Failure.of(self.check_trace(trace, about))


def dynamic_of(trace: Trace) -> tuple[str, ...]:
    """Returns the dynamic dimensions of a trace's arguments, as `--dynamic` takes them."""
    return tuple(
        f"{value.name}.{axis}={symbol}"
        for value in trace.inputs
        for axis, symbol in value.dynamic
        if not value.is_weight
    )
