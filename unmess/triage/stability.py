"""Finds the first value of a model that differs between calls in eager PyTorch. Runs in workers."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch

from unmess.triage.call_recording import record_calls
from unmess.triage.trace import Trace, Value

UNINITIALIZED = "it reads uninitialized memory"
RANDOM = "it draws random numbers"
# Larger differences are not due to rounding.
_ROUNDING = 1e-2
VARYING = "two calls with the same random seed differ"


def unstable_call(
    model: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], folder: Path
) -> tuple[str, str | None, str] | None:
    """Calls a model several times, and returns the first call of PyTorch whose result differs.

    Args:
        folder: for recorded values.

    Returns:
        The operator, the user's source line, and the reason; None if the results of all calls are
        the same.
    """

    def recorded(name: str, seed: int = 0) -> Trace:
        torch.manual_seed(seed)
        place = folder / name
        place.mkdir(parents=True)
        return record_calls(copy.deepcopy(model), args, kwargs, place)

    first = recorded("first")
    with _filled_memory():
        filled = recorded("filled")
    # Filling memory also selects deterministic kernels, whose results may be rounded differently.
    others = (
        (filled, UNINITIALIZED, _ROUNDING),
        (recorded("again"), VARYING, 0.0),
        (recorded("seeded", seed=1), RANDOM, 0.0),
    )
    for other, reason, tolerance in others:
        if _results_differ(first, other, tolerance):
            found = _first_difference(first, other, tolerance)
            return None if found is None else (*found, reason)
    return None


def _results_differ(first: Trace, other: Trace, tolerance: float) -> bool:
    values = [{call.value.name: call.value for call in trace.calls} for trace in (first, other)]
    names = [name for name in first.outputs if all(name in each for each in values)]
    return any(_differs(values[0][name], values[1][name], tolerance) for name in names)


def _first_difference(
    first: Trace, other: Trace, tolerance: float
) -> tuple[str, str | None] | None:
    for one, two in zip(first.calls, other.calls, strict=False):
        # The contents of new memory differ, whether or not the model reads them.
        if not one.is_uninitialized and _differs(one.value, two.value, tolerance):
            return one.operator, one.where
    return None


def _differs(one: Value, two: Value, tolerance: float) -> bool:
    if one.file is None or two.file is None:
        return one.expression != two.expression
    tensors = [torch.load(value.file) for value in (one, two)]
    tensors = [
        torch.view_as_real(each.resolve_conj()) if each.is_complex() else each for each in tensors
    ]
    if tensors[0].shape != tensors[1].shape:
        return True
    if not tensors[0].is_floating_point():
        return not torch.equal(*tensors)
    return not torch.allclose(*tensors, rtol=tolerance, atol=tolerance, equal_nan=True)


@contextlib.contextmanager
def _filled_memory() -> Iterator[None]:
    """Fills new memory with NaN and large integers inside the block."""
    before = (
        torch.are_deterministic_algorithms_enabled(),
        torch.is_deterministic_algorithms_warn_only_enabled(),
        torch.utils.deterministic.fill_uninitialized_memory,
    )
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.utils.deterministic.fill_uninitialized_memory = True
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before[0], warn_only=before[1])
        torch.utils.deterministic.fill_uninitialized_memory = before[2]
