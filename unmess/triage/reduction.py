"""Reduces a trace to a small program that fails in the same way.

This module does not import PyTorch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from unmess.row import Row
from unmess.triage.delta import shortest_range, smallest
from unmess.triage.failure import Failure, operator_in
from unmess.triage.inputs import generated, shrunk, simplest
from unmess.triage.trace import Trace
from unmess.triage.trials import Trials


class Reduction:
    """A search for a small program.

    Args:
        failure: what a candidate must show.
        row: the check of the model, whose message may name an operator or a line.
        on_smaller: called with each program that is the best so far.
    """

    def __init__(
        self,
        trials: Trials,
        failure: Failure,
        row: Row,
        on_smaller: Callable[[Trace], None],
    ):
        self._trials = trials
        self._failure = failure
        self._row = row
        self._on_smaller = on_smaller

    def run(self, trace: Trace) -> bool:
        """Reduces a trace as far as time allows. Returns whether the trace itself fails alike.

        Raises:
            TimeUp: the time is over. `on_smaller` has received the best program so far.
        """
        for whole in _forms(trace):
            if self._fails(whole, "the whole program"):
                break
        else:
            return False
        best = self._fewer_calls(whole)
        best = self._fewer_results(best)
        # Most small programs fail with any values: one trial in place of several.
        if self._fails(simplest(best), "smaller sizes"):
            return True
        best = shrunk(best, lambda each: self._fails(each, "smaller sizes"))
        generated(best, lambda each: self._fails(each, "simpler values"))
        return True

    def _fails(self, trace: Trace | None, about: str) -> bool:
        if trace is None or self._trials.failure_of(trace, about) != self._failure:
            return False
        self._on_smaller(trace)
        return True

    def _fewer_calls(self, trace: Trace) -> Trace:
        """Returns a program with fewer calls."""

        def cut(units: Sequence[tuple[int, ...]]) -> Trace | None:
            return trace.cut([position for unit in units for position in unit])

        def fails(units: Sequence[tuple[int, ...]]) -> bool:
            return self._fails(cut(units), "fewer operators")

        units = trace.units()
        for unit in self._suspects(trace, units):
            if fails([unit]):
                return cut([unit])
        units = shortest_range(units, fails)
        units = smallest(units, fails)
        return cut(units) or trace

    def _suspects(
        self, trace: Trace, units: list[tuple[int, ...]], most: int = 4
    ) -> list[tuple[int, ...]]:
        """Returns the calls that the message names, by their operator or their line."""
        name = operator_in(self._row.error or "")
        calls = trace.calls
        named = [
            unit for unit in units if name and f"{calls[unit[0]].operator}.".startswith(f"{name}.")
        ]
        line = self._row.where
        placed = [unit for unit in units if line and calls[unit[0]].where == line]
        both = [unit for unit in named if unit in placed]
        # If one wrong value is the only result, the last call computes it.
        last = [unit for unit in units[-1:] if len(trace.outputs) == 1]
        return list(dict.fromkeys((*both, *named, *placed, *last)))[:most]

    def _fewer_results(self, trace: Trace) -> Trace:
        """Returns a program with fewer results."""
        if len(trace.outputs) < 2:
            return trace
        for name in reversed(trace.outputs):
            one = trace.with_outputs([name])
            if self._fails(one, "fewer results"):
                return one
        kept = smallest(
            trace.outputs,
            lambda names: self._fails(trace.with_outputs(names), "fewer results"),
        )
        return trace.with_outputs(kept)


def _forms(trace: Trace) -> list[Trace]:
    """Returns forms of the program, the simplest first: static sizes, weights as arguments."""
    static = trace.static()
    plain = tuple(replace(value, is_weight=False) for value in static.inputs)
    forms = [replace(static, inputs=plain), static, trace]
    return [form for place, form in enumerate(forms) if form not in forms[:place]]
