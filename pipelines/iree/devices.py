"""The devices that IREE's drivers find on this system."""

from __future__ import annotations

import contextlib
import functools
import json
import re
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from unmess.core.errors.iree_runtime import short_problem
from unmess.core.processes import children

_SECONDS = 60


@dataclass(frozen=True)
class Device:
    """A device, as described by its driver.

    Attributes:
        name: the name to show to users.
        report: the driver's description, in lines `name: value`.
    """

    name: str
    report: str

    def find(self, pattern: str) -> str | None:
        """Returns the first group of the first match of a pattern in the report."""
        match = re.search(pattern, self.report, re.MULTILINE)
        return None if match is None else match[1]


@dataclass(frozen=True)
class Devices:
    """The devices of a driver.

    Attributes:
        found: the devices, the default one first.
        problem: one line that says why there are none; None if there are some.
    """

    found: tuple[Device, ...] = ()
    problem: str | None = None

    @property
    def default(self) -> Device | None:
        """The device that programs run on."""
        return self.found[0] if self.found else None


@functools.cache
def devices(driver: str) -> Devices:
    """Asks a driver for its devices, once per process: `local-task`, `vulkan`, `cuda` or `hip`."""
    return ask_drivers((driver,))[driver]


def ask_drivers(drivers: Sequence[str]) -> dict[str, Devices]:
    """Queries drivers for their devices in parallel, in another process: a driver may crash."""
    try:
        done = subprocess.run(
            children.command("pipelines.iree.probe", *drivers),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_SECONDS,
            env=children.environment(),
        )
        output, problem = done.stdout, f"the query of the driver failed: {_last_line(done.stderr)}"
    except subprocess.TimeoutExpired as stopped:
        output, problem = stopped.stdout or b"", f"the driver did not answer within {_SECONDS} s"
    answers = {answer["driver"]: answer for answer in _json_lines(output)}
    return {
        driver: _devices(answers[driver]) if driver in answers else Devices(problem=problem)
        for driver in drivers
    }


def _devices(answer: dict[str, Any]) -> Devices:
    if "crash" in answer:
        return Devices(problem=f"the driver crashed with {children.ending(answer['crash'])}")
    if "problem" in answer:
        return Devices(problem=short_problem(answer["problem"]))
    found = tuple(Device(**device) for device in answer["devices"])
    return Devices(found, None if found else "the driver found no device")


def _json_lines(output: bytes) -> Iterator[dict[str, Any]]:
    """Yields the answers, and skips lines that the drivers print."""
    for line in output.splitlines():
        with contextlib.suppress(json.JSONDecodeError, UnicodeDecodeError):
            answer = json.loads(line)
            if isinstance(answer, dict) and "driver" in answer:
                yield answer


def _last_line(output: bytes) -> str:
    lines = output.decode(errors="replace").splitlines()
    return next((line for line in reversed(lines) if line.strip()), "the driver did not answer")
