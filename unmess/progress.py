"""Shows on stderr what a command is doing, when that takes longer than a second."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from typing import TextIO

from unmess.format import time_left

# Seconds until a stage is printed, if stderr is not a terminal.
_FIRST_SECONDS = 1.0
# Seconds between further lines about the same stage.
_NEXT_SECONDS = 10.0
# Seconds until the spinner appears: for short tasks, it would only flicker.
_SPINNER_SECONDS = 0.5


class Count:
    """The number of finished items, as text, with an estimate of the time that the others take."""

    def __init__(self, total: int):
        self._finished, self._total, self._start = 0, total, time.monotonic()

    def finish_one(self) -> None:
        """Counts one more item."""
        self._finished += 1

    def __str__(self) -> str:
        text = f"{self._finished}/{self._total}"
        if self._finished in (0, self._total):
            return text
        each = (time.monotonic() - self._start) / self._finished
        return f"{text}, {time_left(each * (self._total - self._finished))} left"


class Progress:
    """Shows the current task and its duration: a spinner on a terminal, lines elsewhere."""

    def __init__(self, stream: TextIO, quiet: bool):
        self._stream = stream
        self._quiet = quiet
        self._task: str | None = None
        self._start = 0.0
        self._shown = 0.0
        self._changed = threading.Condition()
        self._over = False
        self._live = None

    def begin(self, task: str) -> None:
        """Sets the current task."""
        with self._changed:
            self._task, self._start, self._shown = task, time.monotonic(), 0.0
            self._changed.notify()
        if self._live is not None:
            # Refresh now: a task that holds the GIL stops the spinner.
            self._live.refresh()

    def line(self, text: str) -> None:
        """Prints a line above the spinner, whether quiet or not."""
        with self._changed:
            if self._live is not None:
                self._live.console.print(text, markup=False, highlight=False, soft_wrap=True)
            else:
                print(text, file=self._stream, flush=True)

    def finished(self, text: str) -> None:
        """Prints a line about what has been done, unless quiet."""
        if not self._quiet:
            self.line(text)

    @contextlib.contextmanager
    def showing(self) -> Iterator[Progress]:
        """Shows tasks while the block runs."""
        if self._quiet:
            yield self
        elif self._stream.isatty():
            with self._spinner():
                yield self
        else:
            reporter = threading.Thread(target=self._report, daemon=True)
            reporter.start()
            try:
                yield self
            finally:
                with self._changed:
                    self._over = True
                    self._changed.notify()
                reporter.join()

    @contextlib.contextmanager
    def _spinner(self) -> Iterator[None]:
        from rich.console import Console
        from rich.live import Live
        from rich.spinner import Spinner
        from rich.text import Text

        spinner = Spinner("line")

        def render() -> Spinner | Text:
            elapsed = time.monotonic() - self._start
            if self._task is None or elapsed < _SPINNER_SECONDS:
                return Text()
            spinner.update(text=Text(f"{self._task} … {elapsed:.0f} s"))
            return spinner

        console = Console(file=self._stream)
        with Live(console=console, get_renderable=render, transient=True) as self._live:
            try:
                yield
            finally:
                self._live = None

    def _report(self) -> None:
        with self._changed:
            while not self._over:
                if self._task is None:
                    self._changed.wait()
                    continue
                elapsed = time.monotonic() - self._start
                due = self._shown + (_NEXT_SECONDS if self._shown else _FIRST_SECONDS)
                if elapsed < due:
                    self._changed.wait(due - elapsed)
                    continue
                print(f"{self._task} … {elapsed:.0f} s", file=self._stream, flush=True)
                self._shown = elapsed
