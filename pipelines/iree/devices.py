"""The devices that IREE's drivers find here."""

from __future__ import annotations

import functools
import json
import re
import subprocess
from dataclasses import dataclass

from unmess.core import processes
from unmess.core.drivers import short_problem

_SECONDS = 60


@dataclass(frozen=True)
class Device:
    """A device, as its driver describes it.

    Attributes:
        name: for people.
        report: the driver's description, in lines `name: value`.
    """

    name: str
    report: str

    def find(self, pattern: str) -> str | None:
        """The first group of the first match of a pattern in the report."""
        match = re.search(pattern, self.report, re.MULTILINE)
        return None if match is None else match[1]


@dataclass(frozen=True)
class Devices:
    """What a driver finds.

    Attributes:
        found: the devices, the default one first.
        problem: why there are none, one line; None where there are some.
    """

    found: tuple[Device, ...] = ()
    problem: str | None = None

    @property
    def default(self) -> Device | None:
        """The device that programs run on."""
        return self.found[0] if self.found else None


@functools.cache
def devices(driver: str) -> Devices:
    """The devices of a driver: `local-task`, `vulkan`, `cuda` or `hip`.

    The driver is asked in a process of its own, once for each process that wants to know.
    """
    try:
        done = subprocess.run(
            processes.command("pipelines.iree.probe", driver),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_SECONDS,
            env=processes.environment(),
        )
    except subprocess.TimeoutExpired:
        return Devices(problem=f"the driver did not answer within {_SECONDS} s")
    if done.returncode < 0:
        return Devices(problem=f"the driver crashes with {processes.ending(done.returncode)}")
    try:
        answer = json.loads(done.stdout.splitlines()[-1])
    except (IndexError, json.JSONDecodeError):
        return Devices(problem=f"the driver cannot be asked: {_last_line(done.stderr)}")
    if "problem" in answer:
        return Devices(problem=short_problem(answer["problem"]))
    found = tuple(Device(**device) for device in answer["devices"])
    return Devices(found, None if found else "the driver finds no device")


def _last_line(text: str) -> str:
    return next((line for line in reversed(text.splitlines()) if line.strip()), "no answer")
