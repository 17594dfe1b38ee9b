"""One worker that checks a model, as seen by the process that requested it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from unmess.core.errors.error import Error
from unmess.core.processes.workers import Parent
from unmess.isolated import work
from unmess.isolated.clock import Clock
from unmess.isolated.options import SHARED, Options, Place
from unmess.row import Row


class Child:
    """One worker that checks a model, as seen by the process that requested it.

    Attributes:
        stage: the stage that began last.
        repro: path of the reproducer that the worker wrote, or None.
    """

    def __init__(
        self,
        parent: Parent,
        model: str,
        options: Options,
        *,
        places: Sequence[Place] = (),
        crash: dict[str, Any] | None = None,
    ):
        """Starts the worker: it checks `places`, or writes a reproducer for `crash`."""
        self._model = model
        self._options = options
        self._clock = Clock()
        self._runner: str | None = None
        self._notes: list[str] = []
        self._operators: list[str] | None = None
        self.stage = SHARED[0]
        self.repro: str | None = None
        if crash is None:
            self._worker = parent.start(work.check, model, options, list(places))
        else:
            self._worker = parent.start(work.reproduce, model, options, *crash.values())

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *_exception: object) -> None:
        self._worker.end()

    @property
    def death(self) -> str | None:
        """How the worker ended, if it had not finished."""
        return self._worker.death

    @property
    def hint(self) -> str | None:
        """A hint on what to do about its death."""
        return self._worker.hint

    def rows(
        self, on_stage: Callable[[str, str | None], None], on_output: Callable[[str], None]
    ) -> Iterator[Row]:
        """Yields the rows as they are finished, until the worker ends or time is up."""
        self._worker.allow(self._options.timeout)
        for event in self._worker.messages(on_output):
            if row := self._take(event, on_stage):
                self._worker.allow(self._options.timeout)
                yield row

    def last_row(self, runner: str, via: str | None, error: Error) -> Row:
        """Returns the row for a place that this worker did not finish."""
        return Row.failed(
            self._model,
            runner,
            error,
            seconds=self._clock.seconds(),
            peak_rss_mb=self._worker.peak_rss_mb,
            notes=self._notes,
            operators=self._operators,
            via=via,
        )

    def _take(
        self, event: dict[str, Any], on_stage: Callable[[str, str | None], None]
    ) -> Row | None:
        """Handles an event. Returns the row if the event is one."""
        if "row" in event:
            return Row(**event["row"])
        if "runner" in event:
            self._runner, self._notes = event["runner"], event["notes"]
            self._operators = event["operators"]
            self._clock.begin_runner()
        elif "stage" in event:
            self.stage = event["stage"]
            self._clock.enter(self.stage)
            on_stage(self.stage, self._runner)
        elif "repro" in event:
            self.repro = event["repro"]
        return None
