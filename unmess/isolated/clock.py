"""Measures time by step, in both processes of an isolated check."""

from __future__ import annotations

import time

from unmess.core.errors.stages import LOWERED

# Stages, and the timed steps that they count for. The time of `run` is a median instead.
_STEPS = {
    "capture": "capture",
    "import": "import",
    **dict.fromkeys(LOWERED, "lower"),
    "compile": "compile",
    "load": "load",
}


class Clock:
    """Measures time by step, from the start times of stages."""

    def __init__(self) -> None:
        self._seconds: dict[str, float] = {}
        self._stage: str | None = None
        self._since = 0.0

    def enter(self, stage: str) -> None:
        """Ends the current stage, and begins `stage`."""
        now = time.perf_counter()
        step = _STEPS.get(self._stage)
        if step is not None:
            self._seconds[step] = self._seconds.get(step, 0.0) + now - self._since
        self._stage, self._since = stage, now

    def begin_runner(self) -> None:
        """Resets all times except the capture's, which all runners share."""
        self.enter("")
        self._seconds = {step: self._seconds[step] for step in self._seconds if step == "capture"}

    def seconds(self) -> dict[str, float]:
        """Returns the seconds of each step, without the current one."""
        current = _STEPS.get(self._stage)
        return {step: value for step, value in self._seconds.items() if step != current}
