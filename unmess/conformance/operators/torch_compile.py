"""Runs cases with `torch.compile(…, backend="unmess")` and compares the results with eager."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import torch
from torch.utils import _pytree as pytree

from pipelines.backends.backend import Numerics
from pipelines.backends.finding import find_backend
from unmess.conformance.operators.case import Case
from unmess.conformance.operators.difference import difference, sample_difference
from unmess.conformance.operators.outcomes import (
    Failure,
    Outcome,
    failure_of,
    isolated_outcomes,
)
from unmess.core.errors.error import first_line
from unmess.core.errors.quiet import quiet_libraries
from unmess.core.processes.workers import Parent

_RUNNER = "reference"
# The arguments of `torch.compile` by the name of a column. Without fallback, a graph break is a
# failure, too: what TorchDynamo leaves out is not compiled.
WAYS: dict[str, dict[str, Any]] = {
    "with fallback": {"options": {"on": _RUNNER}},
    "with fallback, dynamic sizes": {"options": {"on": _RUNNER}, "dynamic": True},
    "without fallback": {"options": {"on": _RUNNER, "fallback": None}, "fullgraph": True},
}
# The number of calls whose results form the sample of a random operator.
_CALLS = 40


def torch_compile_outcomes(cases: Sequence[Case], parent: Parent | None = None) -> list[Outcome]:
    """Returns the Failure of each case by way, or None if it matches eager. See `outcomes`."""
    return isolated_outcomes(cases, _outcomes, tuple(WAYS), parent=parent)


def _outcomes(cases: Sequence[Case]) -> list[Outcome]:
    quiet_libraries()
    # Eager's sums depend on the number of threads.
    torch.set_num_threads(1)
    return [{way: _compared(case, way) for way in WAYS} for case in cases]


def _compared(case: Case, way: str) -> Failure | None:
    module, args = case.module(), case.tensors()
    try:
        module(*_copied(args))
    except Exception as problem:
        return Failure("eager", first_line(problem))
    torch._dynamo.reset()
    compiled = torch.compile(module, backend="unmess", **WAYS[way])
    is_fallback = WAYS[way]["options"].get("fallback", "eager") is not None
    try:
        with warnings.catch_warnings():
            # With fallback, each operator that does not lower causes a warning.
            warnings.simplefilter("ignore")
            if not case.accuracy.samples:
                backend = find_backend(_RUNNER)
                problem = difference(
                    case.module(),
                    args,
                    compiled(*_copied(args)),
                    case.accuracy,
                    getattr(backend, "numerics", Numerics()),
                    case.comparable,
                )
            elif is_fallback:
                problem = _seeded_difference(case, compiled)
            else:
                results = [compiled(*_copied(args)) for _ in range(_CALLS)]
                problem = sample_difference(case.module(), args, results, case.comparable)
    except (torch._dynamo.exc.Unsupported, torch._dynamo.exc.UserError) as error:
        return Failure("capture", f"TorchDynamo does not trace it: {first_line(error)}")
    except Exception as error:
        return failure_of(error)
    return Failure("compare", problem) if problem else None


def _copied(args: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    return [each.detach().clone() for each in args]


def _seeded_difference(case: Case, compiled: Any) -> str | None:
    """Returns how the results of a random operator differ from eager's with the same seed."""
    results = []
    for function in (case.module(), compiled):
        torch.manual_seed(0)
        results.append(pytree.tree_flatten(function(*_copied(case.tensors()))))
    (theirs, spec), (ours, other_spec) = results
    if spec != other_spec:
        return f"the result is {other_spec}, eager's is {spec}"
    for one, other in zip(theirs, ours, strict=True):
        if isinstance(one, torch.Tensor):
            same = one.dtype == other.dtype and one.shape == other.shape
            if not same or not torch.allclose(one, other, equal_nan=True):
                return "other numbers than eager with the same seed"
        elif one != other:
            return f"the result is {other!r}, eager's is {one!r}"
    return None
