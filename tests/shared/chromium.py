"""Starts a headless Chromium and controls it with the DevTools protocol."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

NAMES = ("chromium-headless-shell", "chromium", "google-chrome")
# The timeout for one answer. It is long because the machine may be busy.
_SECONDS = 120
# The file descriptors from which the browser reads commands and to which it writes answers.
_COMMANDS, _ANSWERS = 3, 4


class Browser:
    """A headless Chromium with at most one page.

    Attributes:
        messages: the page's console output, log entries and uncaught exceptions.
        requests: the URLs that the page has requested.
    """

    def __init__(self, executable: str, profile: Path):
        to_read, self._to = os.pipe()
        self._from, to_write = os.pipe()
        # Duplicate to 10 or higher, so that dup2 in the child does not overwrite an end.
        ends = [fcntl.fcntl(each, fcntl.F_DUPFD_CLOEXEC, 10) for each in (to_read, to_write)]
        self._process = subprocess.Popen(
            [
                executable,
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                f"--user-data-dir={profile}",
                "--remote-debugging-pipe",
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            preexec_fn=lambda: (os.dup2(ends[0], _COMMANDS), os.dup2(ends[1], _ANSWERS)),
            pass_fds=(_COMMANDS, _ANSWERS),
        )
        for end in (to_read, to_write, *ends):
            os.close(end)
        self._buffer = b""
        self._number = 0
        self._session: str | None = None
        self.messages: list[str] = []
        self.requests: list[str] = []

    @contextmanager
    def new_page(self) -> Iterator[None]:
        """Opens a page that shares nothing with earlier ones, and closes it."""
        context = self.call("Target.createBrowserContext")
        target = self.call("Target.createTarget", url="about:blank", **context)
        attached = self.call("Target.attachToTarget", flatten=True, **target)
        self.messages, self.requests = [], []
        self._session = attached["sessionId"]
        try:
            for domain in ("Page", "Runtime", "Log", "Network"):
                self.call(f"{domain}.enable")
            yield
        finally:
            self._session = None
            self.call("Target.disposeBrowserContext", **context)

    def call(self, method: str, **parameters) -> dict:
        """Sends a command and returns its result. Records the events that arrive before it."""
        self._number += 1
        command = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            command["sessionId"] = self._session
        os.write(self._to, json.dumps(command).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                return answer["result"]

    def open(self, address: str) -> None:
        """Opens a page and waits until it is loaded."""
        self.call("Page.navigate", url=address)
        self.wait_for("location.href !== 'about:blank' && document.readyState === 'complete'")

    def wait_for(self, condition: str) -> None:
        """Waits until a JavaScript expression is true."""
        deadline = time.monotonic() + _SECONDS
        while not self.evaluate(condition):
            assert time.monotonic() < deadline, f"still not: {condition}"
            time.sleep(0.05)

    def evaluate(self, expression: str):
        """Returns the value of a JavaScript expression in the page."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def screenshot(self) -> bytes:
        """Returns a screenshot of the whole page as PNG."""
        shot = self.call("Page.captureScreenshot", captureBeyondViewport=True)
        return base64.b64decode(shot["data"])

    def close(self) -> None:
        """Kills the browser and closes the pipes."""
        self._process.kill()
        self._process.wait()
        os.close(self._to)
        os.close(self._from)

    def _next(self) -> dict:
        while b"\0" not in self._buffer:
            assert select.select([self._from], [], [], _SECONDS)[0], "the browser does not answer"
            piece = os.read(self._from, 1 << 20)
            assert piece, "the browser has ended"
            self._buffer += piece
        line, _, self._buffer = self._buffer.partition(b"\0")
        message = json.loads(line)
        if message.get("sessionId") != self._session:
            # An event of an earlier page.
            return {}
        event, parameters = message.get("method"), message.get("params", {})
        if event == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])
        elif event == "Runtime.exceptionThrown":
            self.messages.append(str(parameters["exceptionDetails"]))
        elif event == "Log.entryAdded":
            self.messages.append(parameters["entry"]["text"])
        elif event == "Runtime.consoleAPICalled":
            self.messages.append(str(parameters["args"]))
        return message
