"""One process that checks a model, seen from outside."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from typing import Any

from unmess.core.error import Error
from unmess.core.row import Row
from unmess.isolated.clock import Clock
from unmess.isolated.options import SHARED, Options
from unmess.isolated.process import fork, start

# How often a silent child is looked at, and how long one may take to end after its last word.
_TICK_SECONDS = 0.5
_GRACE_SECONDS = 10.0


class Child:
    """One process that checks a model, seen from outside.

    Attributes:
        stage: the stage that began last.
        death: how it ended, where it had not finished; `hint` belongs to it.
        repro: path of the reproducer, where the process was to write one.
    """

    def __init__(
        self,
        model: str,
        options: Options,
        *,
        runners: Sequence[str] = (),
        crash: dict[str, str] | None = None,
    ):
        """Starts the process: it checks `runners`, or writes a reproducer for `crash`."""
        self._model = model
        self._options = options
        self._clock = Clock()
        self._runner: str | None = None
        self._notes: list[str] = []
        self._finished = False
        self._timed_out = False
        self._peak_rss_mb: float | None = None
        self.stage = SHARED[0]
        self.death: str | None = None
        self.hint: str | None = None
        self.repro: str | None = None
        request = {
            "model": model,
            "options": asdict(options),
            "runners": list(runners),
            "crash": crash,
        }
        self._events, theirs = os.pipe()
        try:
            self._process = (fork if options.forked else start)(request, theirs)
        finally:
            os.close(theirs)

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *_exception: object) -> None:
        self._end()
        os.close(self._process.output)
        os.close(self._events)

    def rows(
        self, on_stage: Callable[[str, str | None], None], on_output: Callable[[str], None]
    ) -> Iterator[Row]:
        """Yields the rows as they are finished, until the process ends or time is up."""
        output = self._process.output
        lines = {self._events: _Lines(), output: _Lines()}
        deadline = self._deadline()
        with selectors.DefaultSelector() as selector:
            for pipe in lines:
                os.set_blocking(pipe, False)
                selector.register(pipe, selectors.EVENT_READ)
            while not self._finished:
                left = deadline - time.monotonic()
                if left <= 0:
                    self._timed_out = True
                    break
                # Asked first: what it wrote before it ended is still read below.
                ended = self._has_ended()
                ready = selector.select(0 if ended else min(left, _TICK_SECONDS))
                if ended and not ready:
                    break
                for key, _ in ready:
                    data = os.read(key.fd, 1 << 16)
                    if not data:
                        selector.unregister(key.fd)
                    for line in lines[key.fd].feed(data):
                        if key.fd == output:
                            on_output(line)
                        elif row := self._take(json.loads(line), on_stage):
                            deadline = self._deadline()
                            yield row
        self._end()
        with contextlib.suppress(BlockingIOError):
            while data := os.read(output, 1 << 16):
                for line in lines[output].feed(data):
                    on_output(line)
        for line in lines[output].feed(b"\n"):
            if line:
                on_output(line)

    def last_row(self, runner: str, error: Error) -> Row:
        """The row for a runner that this process did not get through."""
        return Row.failed(
            self._model,
            runner,
            error,
            seconds=self._clock.seconds(),
            peak_rss_mb=self._peak_rss_mb,
            notes=self._notes,
            via=self._options.via,
        )

    def _end(self) -> None:
        """Sees to it that the process and what it started are gone."""
        if self._process.status is not None:
            return
        grace = _GRACE_SECONDS if self._finished else 0.0
        until = time.monotonic() + grace
        while not self._has_ended() and time.monotonic() < until:
            time.sleep(0.01)
        # The process is not reaped yet, so the number of its group is still its own.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        _, status, usage = os.wait4(self._process.pid, 0)
        self._process.status = os.waitstatus_to_exitcode(status)
        self._peak_rss_mb = usage.ru_maxrss * 1024 / 1e6
        if not self._finished:
            self.death, self.hint = self._cause_of_death(self._process.status)

    def _deadline(self) -> float:
        timeout = self._options.timeout
        return float("inf") if timeout is None else time.monotonic() + timeout

    def _has_ended(self) -> bool:
        flags = os.WEXITED | os.WNOWAIT | os.WNOHANG
        return os.waitid(os.P_PID, self._process.pid, flags) is not None

    def _take(
        self, event: dict[str, Any], on_stage: Callable[[str, str | None], None]
    ) -> Row | None:
        """Takes note of an event; the row, where it is one."""
        if "row" in event:
            return Row(**event["row"])
        if "runner" in event:
            self._runner, self._notes = event["runner"], event["notes"]
            self._clock.begin_runner()
        elif "stage" in event:
            self.stage = event["stage"]
            self._clock.enter(self.stage)
            on_stage(self.stage, self._runner)
        elif "repro" in event:
            self.repro = event["repro"]
        else:
            self._finished = event["finished"]
        return None

    def _cause_of_death(self, status: int) -> tuple[str, str]:
        if self._timed_out:
            return f"timed out after {self._options.timeout:g} s", "allow more with --timeout"
        if status == -signal.SIGKILL:
            return (
                "crashed with SIGKILL",
                "the system may have run out of memory: "
                f"the process had used up to {self._peak_rss_mb:,.0f} MB",
            )
        if status < 0:
            name = signal.Signals(-status).name
            return f"crashed with {name}", "run again with --debug for Python's stack at the crash"
        return f"the process ended with status {status}", "does the model's code end it?"


class _Lines:
    """Takes bytes in any portions, gives whole lines of text without their ends."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> list[str]:
        *lines, self._rest = (self._rest + data).split(b"\n")
        return [line.decode(errors="replace") for line in lines]
