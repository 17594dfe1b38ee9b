"""Time by step, on either side of an isolated check."""

from __future__ import annotations

import time

# The timed step that a stage counts for. Running is timed by its median instead.
_STEPS = {
    "capture": "capture",
    "import": "import",
    **dict.fromkeys(("torch", "linalg", "tosa", "stablehlo"), "lower"),
    "compile": "compile",
    "load": "load",
}


class Clock:
    """Time by step, from the moments at which stages begin."""

    def __init__(self) -> None:
        self._seconds: dict[str, float] = {}
        self._stage: str | None = None
        self._since = 0.0

    def enter(self, stage: str) -> None:
        """Ends the stage before, and begins `stage`."""
        now = time.perf_counter()
        step = _STEPS.get(self._stage)
        if step is not None:
            self._seconds[step] = self._seconds.get(step, 0.0) + now - self._since
        self._stage, self._since = stage, now

    def begin_runner(self) -> None:
        """Forgets everything but the capture, which is for all runners."""
        self.enter("")
        self._seconds = {step: self._seconds[step] for step in self._seconds if step == "capture"}

    def seconds(self) -> dict[str, float]:
        """Of the steps whose stages have all ended."""
        current = _STEPS.get(self._stage)
        return {step: value for step, value in self._seconds.items() if step != current}
