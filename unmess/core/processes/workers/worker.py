"""A worker, as seen by the process that requested it."""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import selectors
import socket
import time
from collections.abc import Callable, Iterator
from typing import Any

from unmess.core.processes.children import cause_of_death
from unmess.core.processes.workers.inside import FINISHED, HEADER

# Seconds that a worker may take to end after its last message.
_GRACE_SECONDS = 10.0


class Worker:
    """A process that works on one request. Use it as a context manager, or `end` it.

    Attributes:
        finished: whether the function has returned.
        status: the result of `os.waitstatus_to_exitcode`; None until the process has ended.
        peak_rss_mb: peak memory in 10**6 bytes, libraries included; None until it has ended.
        death, hint: how it ended, if it ended before it finished.
    """

    def __init__(self, life: socket.socket, messages: int, output: int | None):
        """Called by `Parent.start`.

        Args:
            life: socket that reports how the process ended. Closing it ends the process.
            messages: file descriptor to read its messages from.
            output: file descriptor to read its stdout and stderr from; None if they go elsewhere.
        """
        self._life = life
        self._messages = messages
        self._output = output
        self._frames, self._lines, self._reports = _Frames(), _Lines(), _Lines()
        self._pid: int | None = None
        self._limit: float | None = None
        self._deadline = float("inf")
        self._timed_out = False
        self._lost: str | None = None
        self.finished = False
        self.status: int | None = None
        self.peak_rss_mb: float | None = None
        self.death: str | None = None
        self.hint: str | None = None

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.end()

    @property
    def pid(self) -> int:
        """Its process id, which is also that of its session and process group."""
        while self._pid is None and self._lost is None:
            self._take_report(self._life.recv(1 << 12))
        if self._pid is None:
            raise OSError(self._lost)
        return self._pid

    def allow(self, seconds: float | None) -> None:
        """Sets its time limit, from now on or from its start; None: no limit."""
        self._limit = seconds
        self._deadline = float("inf") if seconds is None else time.monotonic() + seconds

    def messages(self, on_output: Callable[[str], None] = lambda _line: None) -> Iterator[Any]:
        """Yields its messages, until it has finished, has ended, or its time is up.

        Args:
            on_output: called with each line that it prints.
        """
        # The time limit counts from its start. Until then, its parent imports libraries.
        with contextlib.suppress(OSError):
            _ = self.pid
        self.allow(self._limit)
        with selectors.DefaultSelector() as selector:
            for source in (self._messages, self._output, self._life):
                if source is not None:
                    selector.register(source, selectors.EVENT_READ)
            while not self.finished:
                left = self._deadline - time.monotonic()
                if left <= 0:
                    self._timed_out = True
                    break
                ended = self.status is not None or self._lost is not None
                # After its end, only earlier output is left to read.
                ready = selector.select(0 if ended else min(left, 3600))
                if ended and not ready:
                    break
                for key, _ in ready:
                    data = os.read(key.fd, 1 << 16)
                    if key.fileobj is self._life:
                        self._take_report(data)
                    elif key.fileobj == self._messages:
                        for kind, value in self._frames.feed(data):
                            if kind == FINISHED:
                                self.finished = True
                            else:
                                yield value
                    else:
                        for line in self._lines.feed(data):
                            on_output(line)
                    if not data:
                        selector.unregister(key.fileobj)
        self.end(on_output)

    def wait(self, timeout: float | None = None) -> int:
        """Waits until it has ended, and returns its status.

        Raises:
            TimeoutError: it has not ended after `timeout` seconds.
        """
        self._life.settimeout(timeout)
        try:
            while self.status is None and self._lost is None:
                self._take_report(self._life.recv(1 << 12))
        finally:
            self._life.settimeout(None)
        if self.status is None:
            raise OSError(self._lost)
        return self.status

    def end(self, on_output: Callable[[str], None] = lambda _line: None) -> None:
        """Ends the process and everything that it started, unless they have ended."""
        if self._life.fileno() < 0:
            return
        if self.finished:
            with contextlib.suppress(TimeoutError, OSError):
                self.wait(_GRACE_SECONDS)
        with contextlib.suppress(OSError):
            self._life.shutdown(socket.SHUT_WR)
            self.wait()
        if not self.finished:
            self._explain()
        self._life.close()
        if self._output is not None:
            os.set_blocking(self._output, False)
            with contextlib.suppress(BlockingIOError):
                while data := os.read(self._output, 1 << 16):
                    for line in self._lines.feed(data):
                        on_output(line)
            for line in self._lines.feed(b"\n"):
                if line:
                    on_output(line)
            os.close(self._output)
        os.close(self._messages)

    def _take_report(self, data: bytes) -> None:
        if not data:
            self._lost = self._lost or "the parent process of the workers has ended"
        for line in self._reports.feed(data):
            facts = json.loads(line)
            self._pid = facts.get("pid", self._pid)
            self._lost = facts.get("problem", self._lost)
            self.status = facts.get("status", self.status)
            self.peak_rss_mb = facts.get("peak_rss_mb", self.peak_rss_mb)

    def _explain(self) -> None:
        if self._timed_out:
            self.death = f"timed out after {self._limit:g} s"
            self.hint = "pass a larger --timeout"
        elif self.status is None:
            self.death = self._lost
            self.hint = "the system may have run out of memory or processes: close other programs"
        else:
            self.death, self.hint = cause_of_death(self.status, self.peak_rss_mb)


class _Lines:
    """Splits a stream of bytes into lines of text, without line ends."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> list[str]:
        *lines, self._rest = (self._rest + data).split(b"\n")
        return [line.decode(errors="replace") for line in lines]


class _Frames:
    """Splits a stream of bytes into messages."""

    def __init__(self) -> None:
        self._rest = bytearray()

    def feed(self, data: bytes) -> Iterator[tuple[str, Any]]:
        self._rest += data
        while len(self._rest) >= HEADER.size:
            (size,) = HEADER.unpack_from(self._rest)
            end = HEADER.size + size
            if len(self._rest) < end:
                return
            message = pickle.loads(self._rest[HEADER.size : end])
            del self._rest[:end]
            yield message
