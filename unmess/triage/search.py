"""Finds the stage at which a model fails, and a small program that fails in the same way.

This module does not import PyTorch.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from unmess.core.errors.error import Error
from unmess.isolated.options import Options
from unmess.row import Row
from unmess.triage import dispatches, recording
from unmess.triage.failure import Failure
from unmess.triage.numerics import Wrong, cause_of, first_wrong
from unmess.triage.reduction import Reduction
from unmess.triage.trace import Trace
from unmess.triage.trials import TimeUp, Trials

# The least time limit of a candidate, in seconds.
_LEAST_SECONDS = 10.0
# A candidate hangs if it takes this many times as long as the stages of the model before the hang,
# and some seconds.
_HANG_FACTOR, _HANG_SECONDS = 3.0, 3.0
# The least time for the checks that find the origin of a wrong value, in seconds.
_ORIGIN_SECONDS = 60.0

# Prefixes of the origins that a miscompiled dispatch may explain.
_OF_COMPILER = ("the compiler", "the preset")


@dataclass
class Best:
    """The smallest program so far.

    Attributes:
        trace: the program; None if no program without the model's own code fails alike.
        row: the check of it.
        only: the module of the model that fails alone, if there is no trace.
        before: the number of operators of the whole model; None if it is not known.
        is_complete: whether the search has ended by itself, not by its time limit.
        wrong: the first wrong value of the model, if it was looked for and found.
        origin: what makes the value wrong, in one line.
        dispatch: a line about the dispatch that IREE miscompiles; None if it was not
            looked for.
        dispatch_ir: the IR of this dispatch; None if it is not known.
    """

    trace: Trace | None
    row: Row
    only: str | None = None
    before: int | None = None
    is_complete: bool = False
    wrong: Wrong | None = None
    origin: str | None = None
    dispatch: str | None = None
    dispatch_ir: str | None = None


class Search:
    """A search for the smallest program that fails like a model.

    Attributes:
        row: the check of the model.
        failure: its failure.
        best: the smallest program so far.
    """

    def __init__(self, trials: Trials, model: str):
        """Checks the model.

        Raises:
            Error: stage `usage` or `source`: there is no program to reduce.
        """
        self._trials = trials
        self._model = model
        trials.say("the model itself")
        self.row = trials.check(model)
        if self.row.stage in ("usage", "source"):
            row = self.row
            raise Error(row.stage, row.error or "", where=row.where, hint=row.hint)
        self.failure = Failure.of(self.row)
        self._traces: dict[str, Trace | None] = {}
        self.best = Best(None, self.row, trials.options.only)

    def run(self, numerics: bool = False) -> None:
        """Reduces the model until nothing can be removed, or the time is over.

        Args:
            numerics: for a wrong result, find the first wrong value and its origin.
        """
        self._limit_candidates()
        is_wrong = numerics and self.failure.stage == "compare"
        levels = ("calls",) if self.failure.stage == "capture" else ("graph", "calls")
        try:
            if is_wrong:
                self._find_wrong_value()
            if not self._reduce(levels, self._trials.options) and self._find_module():
                options = replace(self._trials.options, only=self.best.only, inputs=(), dynamic=())
                self._reduce(levels, options)
            self.best.is_complete = True
        except TimeUp:
            pass
        if is_wrong and self.best.origin is None:
            self._find_origin()
        if is_wrong and dispatches.has_dispatches(self._trials.runner):
            self._find_dispatch()

    def _find_wrong_value(self) -> None:
        """Finds the first wrong value, and whether calls of the model itself differ."""
        options = self._trials.options
        self._trials.say("call the model several times in eager PyTorch")
        folder = str(self._trials.folder / "stability")
        unstable = self._ask(recording.unstable, self._model, options, folder)
        if unstable is not None:
            operator, where, reason = unstable
            place = f" at {where}" if where else ""
            self.best.origin = f"the model itself: {reason} ({operator}{place})"
        trace = self._recorded("graph", options)
        if trace is None:
            return
        self.best.wrong = first_wrong(self._trials, trace)
        if self.best.wrong is None and self.best.origin is None:
            if self._trials.failure_of(trace, "the whole program") is None:
                self.best.origin = "the capture: the captured graph itself differs from the model"
            else:
                self.best.origin = (
                    "the compiler: no value is wrong when it is a result of the program, too"
                )

    def _find_origin(self) -> None:
        if self.best.trace is None:
            return
        # This takes little time, because the reduced program is small.
        self._trials.extend(_ORIGIN_SECONDS)
        with contextlib.suppress(TimeUp):
            self.best.origin = cause_of(self._trials, self.best.trace, self.best.row, self.failure)

    def _find_dispatch(self) -> None:
        """Finds the dispatch of IREE that computes the reduced program wrong."""
        if self.best.trace is None or not (self.best.origin or "").startswith(_OF_COMPILER):
            return
        self._trials.extend(_ORIGIN_SECONDS)
        self._trials.say("compare dispatches with IREE's interpreter")
        model, options = self._trials.program_of(self.best.trace)
        answer = self._ask(
            *(dispatches.wrong_dispatch, model, options, self._trials.runner),
            self.best.row.max_rel_error,
        )
        self.best.dispatch, self.best.dispatch_ir = answer or (None, None)

    def _limit_candidates(self) -> None:
        """Sets the time limit of candidates from the time that the model took."""
        seconds = sum(self.row.seconds.values())
        if self.failure.kind == "hang":
            limit = _HANG_FACTOR * seconds + _HANG_SECONDS
        else:
            limit = max(_LEAST_SECONDS, 3 * seconds)
        options = self._trials.options
        self._trials.options = replace(options, timeout=min(limit, options.timeout or limit))

    def _reduce(self, levels: tuple[str, ...], options: Options) -> bool:
        """Reduces the first trace that fails alike; returns whether there is one."""
        for level in levels:
            trace = self._recorded(level, options)
            if trace is None or not trace.calls:
                continue
            if self.best.before is None:
                self.best.before = trace.operators
            if self.best.wrong is not None and level == "graph":
                trace = trace.with_outputs([self.best.wrong.call.value.name])
            if Reduction(self._trials, self.failure, self.row, self._take).run(trace):
                return True
        return False

    def _take(self, trace: Trace) -> None:
        self.best.trace, self.best.row = trace, self._trials.check_trace(trace, "")

    def _recorded(self, level: str, options: Options) -> Trace | None:
        """Returns a trace of the model; None if the recording fails, as the model may do."""
        self._trials.say("record the values of the model in eager PyTorch")
        name = f"{level}-{options.only or ''}"
        if name not in self._traces:
            folder = str(self._trials.folder / name)
            trace = self._ask(recording.record, self._model, options, level, folder)
            self._traces[name] = trace
        return self._traces[name]

    def _find_module(self) -> bool:
        """Finds the smallest module that fails alone; returns whether there is one."""
        children = self._ask(recording.children, self._model, self._trials.options) or {}
        place, found = self._trials.options.only or "", False
        while True:
            inner = next((name for name in children.get(place, ()) if self._fails(name)), None)
            if inner is None:
                return found
            place, found = inner, True

    def _fails(self, module: str) -> bool:
        """Returns whether a module of the model fails alone, and takes it as the best."""
        self._trials.say(f"the module {module}")
        options = replace(self._trials.options, only=module, inputs=(), dynamic=())
        row = self._trials.check(self._model, options)
        if Failure.of(row) != self.failure:
            return False
        self.best = replace(self.best, row=row, only=module)
        return True

    def _ask(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Returns the message of a worker; None if it fails, crashes or takes too long."""
        if self._trials.left <= 0:
            raise TimeUp
        with self._trials.parent.start(function, *arguments) as worker:
            worker.allow(self._trials.left)
            return next(worker.messages(), None)
