"""Finds the first wrong value of a model, and what causes it.

This module does not import PyTorch.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from unmess.row import Row
from unmess.triage.failure import Failure
from unmess.triage.trace import Call, Code, Trace, Value
from unmess.triage.trials import Trials

# The number of values that are compared in one program.
_CHUNK = 64
_RESULT = re.compile(r"\bresult\[(\d+)\]")
# Differences up to these may be rounding, relative to the largest value of a result. Larger ones
# are not.
_ROUNDING = {"float64": 1e-9, "float32": 1e-3, "float16": 0.1, "bfloat16": 0.3}
# A second runner for the check, by runner. Their common part is the lowering.
_OTHER = {"reference": "iree-cpu"}


@dataclass(frozen=True)
class Wrong:
    """The first wrong value of a model.

    Attributes:
        call: the call that computes it.
        error: how it differs from eager's, in one line.
        right: the number of values before it that were compared and are right.
    """

    call: Call
    error: str
    right: int


def first_wrong(trials: Trials, trace: Trace) -> Wrong | None:
    """Compares the values of a trace with eager's, in order, and returns the first wrong one.

    The values are further results of the program. The comparison is that of `unmess check`.

    Returns:
        None if no value is wrong when it is a result.

    Raises:
        TimeUp: the time is over.
    """
    calls = {
        call.value.name: call
        for call in trace.calls
        if call.value.is_tensor and not call.is_uninitialized
    }
    names = list(calls)
    for start in range(0, len(names), _CHUNK):
        chunk = names[start : start + _CHUNK]
        row = trials.check_trace(
            trace.with_outputs(chunk), f"values {start} to {start + len(chunk)}"
        )
        found = _RESULT.search(row.error or "")
        if row.stage == "compare" and found:
            place = int(found[1])
            error = (row.error or "")[found.end() :].lstrip(": ")
            return Wrong(calls[chunk[place]], error, start + place)
    return None


def cause_of(trials: Trials, trace: Trace, row: Row, failure: Failure) -> str:
    """Returns what makes the result of a program wrong, in one line.

    Args:
        row: the check of the program.

    Raises:
        TimeUp: the time is over.
    """
    if row.with_plain and row.with_plain["ok"]:
        preset = row.with_plain["preset"]
        return f"the preset {preset} of IREE's compiler: with plain, the result is right"
    if _is_rounding(trace, row) and trials.failure_of(in_float64(trace), "in float64") is None:
        return "precision: computed in float64, the result is right"
    runner = trials.runner
    other = _OTHER.get(runner, "reference")
    found = Failure.of(trials.check_trace(trace, f"on {other}", other))
    if found == failure:
        return f"the lowering: the result is wrong on {other}, too"
    if found is None:
        return f"the compiler or the runtime of {runner}: the result is right on {other}"
    return f"unknown: {other} gives no result to compare with"


def _is_rounding(trace: Trace, row: Row) -> bool:
    dtypes = {value.dtype for value in (*trace.inputs, *(call.value for call in trace.calls))}
    bounds = [_ROUNDING[dtype] for dtype in dtypes if dtype in _ROUNDING]
    return bool(bounds) and row.max_rel_error is not None and row.max_rel_error <= max(bounds)


def in_float64(trace: Trace) -> Trace:
    """Returns a program that computes in float64."""
    return replace(
        trace,
        inputs=tuple(map(_widened, trace.inputs)),
        calls=tuple(
            replace(call, args=_wide(call.args), kwargs=_wide(call.kwargs)) for call in trace.calls
        ),
    )


def _widened(value: Value) -> Value:
    if value.dtype not in _ROUNDING:
        return value
    return replace(value, expression=f"{value.expression}.double()", dtype="float64")


def _wide(argument: object) -> object:
    if isinstance(argument, (list, tuple)):
        return type(argument)(map(_wide, argument))
    if isinstance(argument, dict):
        return {name: _wide(item) for name, item in argument.items()}
    if isinstance(argument, Code) and argument.text.removeprefix("torch.") in _ROUNDING:
        return Code("torch.float64")
    return argument
