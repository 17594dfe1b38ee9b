"""Runs cases with `torch.compile(…, backend="unmess")` and compares the results with eager."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
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
# failure, too, because operators outside of TorchDynamo's graphs are not compiled.
WAYS: dict[str, dict[str, Any]] = {
    "with fallback": {"options": {"on": _RUNNER}},
    "with fallback, dynamic sizes": {"options": {"on": _RUNNER}, "dynamic": True},
    "gradients, with fallback": {"options": {"on": _RUNNER}},
    "without fallback": {"options": {"on": _RUNNER, "fallback": None}, "fullgraph": True},
}
# The key of `WAYS` for comparisons of gradients.
_GRADIENTS = "gradients, with fallback"
# The number of calls whose results form the sample of a random operator.
_CALLS = 40


def torch_compile_outcomes(cases: Sequence[Case], parent: Parent | None = None) -> list[Outcome]:
    """Returns each case's Failure by key of `WAYS`, or None if it matches eager. See `outcomes`."""
    return isolated_outcomes(cases, _outcomes, tuple(WAYS), parent=parent)


def _outcomes(cases: Sequence[Case]) -> list[Outcome]:
    quiet_libraries()
    # Eager's sums depend on the number of threads.
    torch.set_num_threads(1)
    return [{way: _compared(case, way) for way in WAYS} for case in cases]


def _compared(case: Case, way: str) -> Failure | None:
    module, args, comparable = case.module(), case.tensors(), case.comparable
    compiled = torch.compile(module, backend="unmess", **WAYS[way])
    if way == _GRADIENTS:
        # Only the comparable part of a result has a defined gradient.
        module, compiled = _Gradients(module, comparable), _Gradients(compiled, comparable)
        comparable = _itself
    try:
        module(*_copied(args))
    except Exception as problem:
        return Failure("eager", first_line(problem))
    torch._dynamo.reset()
    is_fallback = WAYS[way]["options"].get("fallback", "eager") is not None
    try:
        with warnings.catch_warnings():
            # With fallback, each operator that does not lower causes a warning.
            warnings.simplefilter("ignore")
            if not case.accuracy.samples:
                backend = find_backend(_RUNNER)
                problem = difference(
                    module,
                    args,
                    compiled(*_copied(args)),
                    case.accuracy,
                    getattr(backend, "numerics", Numerics()),
                    comparable,
                )
            elif is_fallback:
                problem = _seeded_difference(module, args, compiled)
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


def _itself(result: Any) -> Any:
    return result


class _Gradients(torch.nn.Module):
    """A function whose results are the gradients of another one, for its floating-point arguments.

    The backward pass starts with gradients from 0.5 to 2 for the elements of each result: with
    equal ones, the gradient of a normalization would be 0. Arguments that do not affect the results
    have gradients of 0.
    """

    def __init__(self, function: Callable[..., Any], comparable: Callable[[Any], Any]):
        super().__init__()
        self.function = function
        self.comparable = comparable

    def forward(self, *args: torch.Tensor) -> list[torch.Tensor]:
        args = [x.detach().requires_grad_(_has_gradient(x)) for x in args]
        with torch.enable_grad():
            # The function may write to its arguments, but not to leaves.
            results = pytree.tree_leaves(self.comparable(self.function(*(x.clone() for x in args))))
        results = [x for x in results if isinstance(x, torch.Tensor) and x.requires_grad]
        wanted = [x for x in args if x.requires_grad]
        if not results:
            return []
        given = [torch.linspace(0.5, 2, x.numel()).view(x.shape).to(x.dtype) for x in results]
        found = torch.autograd.grad(results, wanted, given, allow_unused=True)
        return [
            torch.zeros_like(x) if gradient is None else gradient
            for x, gradient in zip(wanted, found, strict=True)
        ]


def _has_gradient(x: torch.Tensor) -> bool:
    return x.is_floating_point() or x.is_complex()


def _seeded_difference(
    module: torch.nn.Module, args: Sequence[torch.Tensor], compiled: Any
) -> str | None:
    """Returns how the results of a random operator differ from eager's with the same seed."""
    results = []
    for function in (module, compiled):
        torch.manual_seed(0)
        results.append(pytree.tree_flatten(function(*_copied(args))))
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
