"""Replays the linalg IR of a model: upstream MLIR runs it, and the results are eager PyTorch's."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from mlir import ir

from unmess.corpus import tensors
from unmess.corpus.replay.engine import CannotCompile, function_of, run
from unmess.corpus.replay.outcome import NOT_CHECKABLE, RIGHT, WRONG, Replay

# Statistics may differ by this part of the largest magnitude, since rounding adds up in a network;
# or by this multiple of the error that rounding causes in eager PyTorch.
_TOLERANCE, _ROUNDINGS = 1e-3, 4
_NUMBERS = ("min", "max", "mean", "std")


def replay_program(item: tuple[dict[str, Any], str]) -> Replay:
    """Replays a program.

    Args:
        item: the row of the model, and the text of its IR.
    """
    row, text = item
    name = f"{row['model']} ({row['variant']})"
    if row["expected_cause"]:
        return Replay(name, NOT_CHECKABLE, row["expected_cause"])
    arguments = [
        tensors.make(json.loads(each["made"]), *(each[key] for key in _MADE))
        for each in row["arguments"]
    ]
    try:
        with ir.Context() as context, np.errstate(all="ignore"):
            context.emit_error_diagnostics = False
            try:
                module = ir.Module.parse(text)
            except ir.MLIRError as problem:
                cause = problem.error_diagnostics[0].message.splitlines()[0]
                return Replay(name, WRONG, f"upstream MLIR does not parse it: {cause}")
            kinds = list(function_of(module, row["entry"]).type.inputs)
            # Booleans are bytes in the IR.
            given = [
                value.view(np.int8) if value.dtype == bool and "i8" in str(kind) else value
                for value, kind in zip(arguments, kinds, strict=True)
            ]
            results = run(module, row["entry"], given)
    except CannotCompile as problem:
        return Replay(name, NOT_CHECKABLE, str(problem))
    compared = 0
    for expected in row["expected"]:
        if expected["result"] is None:
            continue
        found = results[expected["result"]]
        compared += found.size
        if problem := _difference(found, expected):
            return Replay(name, WRONG, f"result {expected['result']}: {problem}", compared)
    return Replay(name, RIGHT, None, compared, sum(each.size for each in results))


_MADE = ("shape", "dtype", "seed", "data")


def _difference(found: np.ndarray, expected: dict[str, Any]) -> str | None:
    """Describes how a result differs from the recorded one; None if it does not."""
    if list(found.shape) != expected["shape"]:
        return f"shape {list(found.shape)}, expected {expected['shape']}"
    dtype = expected["dtype"]
    own = tensors.statistics(found.view(tensors.storage(dtype)), dtype)
    if own["sha256"] == expected["sha256"]:
        return None
    if own["nan"] != expected["nan"]:
        return f"{own['nan']} NaN, expected {expected['nan']}"
    sizes = [abs(expected[key]) for key in _NUMBERS if expected[key] is not None]
    scale = max((size for size in sizes if np.isfinite(size)), default=0.0)
    allowed = max(_TOLERANCE * scale, _ROUNDINGS * (expected["rounding"] or 0.0))
    for key in _NUMBERS:
        pair = own[key], expected[key]
        if pair[0] is None or pair[0] == pair[1] or np.isnan(pair).all():
            continue
        if not abs(pair[0] - pair[1]) <= allowed:
            return f"{key} {pair[0]}, expected {pair[1]}"
    return None
