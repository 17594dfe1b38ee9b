"""Compares a program's results with eager PyTorch's, on the same inputs."""

from __future__ import annotations

import collections
import math
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch.utils import _pytree as pytree

from importers.capture.make_fx import WithGradients
from importers.capture.tensor_attributes import named_attributes
from pipelines.executable import EntryPoint, Executable
from unmess.core.current_stage import enter_stage
from unmess.core.eager import Exact, copied, eager_of, guarded
from unmess.core.error import Error
from unmess.core.failure import only_errors
from unmess.core.note import Note
from unmess.core.program import Program
from unmess.core.recorded import Recorded
from unmess.further_sizes import Call, further_calls
from unmess.plain_check import PlainCheck

# Largest difference allowed, relative to the largest magnitude in the eager result. Summation
# order alone stays below these; a wrong operator does not. Larger differences are compared with
# the float64 result, see `_AGAINST_EAGER`.
_TOLERANCE = {
    torch.float64: 1e-12,
    torch.complex128: 1e-12,
    torch.float32: 1e-5,
    torch.complex64: 1e-5,
    torch.float16: 2e-3,
    torch.complex32: 2e-3,
    torch.bfloat16: 1.6e-2,
}
# The largest allowed ratio of a runner's error to eager's, both against the float64 result. Eager
# sums in blocks, a runner one by one: over torchvision, the ratio is up to 4.5 (EfficientNet-B5).
_AGAINST_EAGER = 8.0


@dataclass(frozen=True)
class Difference:
    """The comparison of one result; `name` is its path in the model's result or state."""

    name: str
    ok: bool
    max_abs_error: float
    max_rel_error: float
    cause: str | None = None


@dataclass(frozen=True)
class SizeCheck:
    """A comparison at other sizes of the dynamic dimensions than the example's.

    Attributes:
        sizes: by the names of the size symbols.
        ok: whether the results match; None if eager refuses these sizes, so nothing was compared.
        error: what differs, or eager's error, one line.
    """

    sizes: dict[str, int]
    ok: bool | None
    error: str | None = None

    def __str__(self) -> str:
        sizes = ", ".join(f"{name}={size}" for name, size in self.sizes.items())
        if self.ok:
            return f"{sizes}: matches eager"
        return f"{sizes}: {'not compared, ' if self.ok is None else ''}{self.error}"


@dataclass(frozen=True)
class _Truth:
    """A leaf of the results in float64, if such results can be computed."""

    results: Exact | None = None
    index: int = 0

    def leaf(self) -> torch.Tensor | None:
        """Returns the leaf; None if there is none."""
        return None if self.results is None else self.results.result(self.index)

    @property
    def problem(self) -> str | None:
        """The reason if computing the results has failed, else None."""
        return None if self.results is None else self.results.problem


@dataclass
class Report:
    """The result of `check`.

    Attributes:
        model, runner: names.
        ok: whether every result matches eager.
        differences: one per result tensor, and per state tensor after the call; also those that
            are too large at further sizes or after several calls.
        max_abs_error: the largest absolute difference.
        max_rel_error: the largest difference relative to the largest magnitude of its tensor.
        seconds: `capture`, `import`, `lower`, `compile`, `load`, and the medians of `run` and
            `eager`.
        notes: how the program differs from the given model, and how it was compared.
        sizes: the comparisons at further sizes, if dimensions are dynamic.
        entries: the Report of each entry point by name, if there are several.
        via: the exit whose IR ran, if one was given.
        with_plain: the comparison repeated with the preset `plain`, if a result is wrong and was
            computed with another preset.
    """

    model: str
    runner: str
    ok: bool
    differences: list[Difference]
    seconds: dict[str, float]
    notes: tuple[Note, ...] = ()
    sizes: tuple[SizeCheck, ...] = ()
    entries: dict[str, Report] = field(default_factory=dict)
    via: str | None = None
    with_plain: PlainCheck | None = None
    max_abs_error: float = field(init=False)
    max_rel_error: float = field(init=False)

    def __post_init__(self) -> None:
        self.max_abs_error = max((d.max_abs_error for d in self.differences), default=0.0)
        self.max_rel_error = max((d.max_rel_error for d in self.differences), default=0.0)

    @property
    def error(self) -> str | None:
        """The first difference that is too large, in one line."""
        wrong = next((d for d in self.differences if not d.ok), None)
        return None if wrong is None else f"{wrong.name}: {wrong.cause}"


@only_errors("run")
def compare(program: Program, executable: Executable | EntryPoint, calls: int = 5) -> Report:
    """Calls both sides on the program's example arguments and compares results and state.

    If dimensions are dynamic, both are also called, and compared, at up to two further sizes.

    Args:
        calls: timed calls of each side, after the one that is compared. The results of the last of
            them are compared as well, because a model may change between calls.

    Raises:
        Error: stage `run`, if either side does not run.
    """
    enter_stage("run")
    eager = eager_of(program)
    initial = {name: tensor.clone() for name, tensor in executable.state.items()}
    example = Call({}, program.args, program.kwargs)
    first, differences = _compare_call(program, example, eager, executable)
    seconds = dict(executable.seconds)
    seconds["run"], actual = _median(executable, example, calls)
    # Recorded results are those of one call, the first.
    is_recorded = isinstance(program.eager, Recorded)
    if not is_recorded:
        seconds["eager"], expected = _median(eager, example, calls)
    if not is_recorded and all(difference.ok for difference in differences):
        repeat = max(calls, 1) + 1
        if program.signature.of_kind("state"):
            exact = Exact(program.eager, example.args, example.kwargs, repeat)
            later = _compare_trees(expected, actual, exact)
        else:
            # Without state, the program repeats its result: compare eager's last with its first.
            later = _compare_trees(expected, first)
        differences += [_drifted(difference, repeat) for difference in later if not difference.ok]
    executable.state.update(copied(initial))
    sizes = []
    for call in further_calls(program):
        check, found = _compare_sizes(program, call, executable)
        sizes.append(check)
        differences += found
        executable.state.update(copied(initial))
    notes = [Note("sizes", str(check)) for check in sizes]
    if program.signature.dynamic_inputs() and not sizes:
        notes = [Note("sizes", "compared at those of the example only: the ranges allow no other")]
    # It is known only now how the reference of an ONNX model was computed.
    notes += [Note("comparison", text) for text in getattr(program.eager, "comparison_notes", ())]
    return Report(
        model=program.name,
        runner=executable.runner,
        ok=all(difference.ok for difference in differences),
        differences=differences,
        seconds=seconds,
        notes=(*program.notes, *executable.notes, *notes),
        sizes=tuple(sizes),
    )


def compare_results(
    model: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], actual: Any
) -> list[Difference]:
    """Compares the results of a call with those of `model` in eager on the same call.

    Raises:
        Error: stage `run`, if eager refuses the call.
    """
    expected = guarded(model)(*copied(args), **copied(kwargs))
    return _compare_trees(expected, actual, Exact(model, args, kwargs))


def _compare_call(
    program: Program, call: Call, eager: Callable[..., Any], executable: Executable | EntryPoint
) -> tuple[Any, list[Difference]]:
    """Returns eager's result, and how the executable's differs from it."""
    expected = eager(*copied(call.args), **copied(call.kwargs))
    actual = executable(*copied(call.args), **copied(call.kwargs))
    enter_stage("compare")
    differences = _compare_trees(expected, actual, Exact(program.eager, call.args, call.kwargs))
    differences += _compare_state(program, eager, executable)
    enter_stage("run")
    return expected, differences


def _compare_sizes(
    program: Program, call: Call, executable: Executable | EntryPoint
) -> tuple[SizeCheck, list[Difference]]:
    """Compares at other sizes; returns the outcome and the results that are wrong."""
    eager = eager_of(program)
    try:
        eager(*copied(call.args), **copied(call.kwargs))
    except Error as error:
        if isinstance(program.eager, Recorded):
            # It refuses every call but the recorded one, whether or not the model would.
            return SizeCheck(call.sizes, None, error.cause), []
        return _compare_refusal(call, error, executable)
    try:
        _, found = _compare_call(program, call, eager_of(program), executable)
    except Error as error:
        found = [Difference("call", False, float("inf"), float("inf"), error.cause)]
    wrong = [
        replace(difference, name=f"{difference.name} at {call}")
        for difference in found
        if not difference.ok
    ]
    if not wrong:
        return SizeCheck(call.sizes, True), []
    return SizeCheck(call.sizes, False, wrong[0].cause), wrong


def _compare_refusal(
    call: Call, refusal: Error, executable: Executable | EntryPoint
) -> tuple[SizeCheck, list[Difference]]:
    """Checks that the executable refuses a call that eager refuses."""
    try:
        executable(*copied(call.args), **copied(call.kwargs))
    except Error:
        return SizeCheck(call.sizes, None, refusal.cause), []
    cause = f"eager raises, and {executable.runner} gives a result: {refusal.cause}"
    wrong = Difference(f"call at {call}", False, float("inf"), float("inf"), cause)
    return SizeCheck(call.sizes, False, cause), [wrong]


def _drifted(difference: Difference, call: int) -> Difference:
    return replace(
        difference,
        name=f"{difference.name} of call {call}",
        cause=f"{difference.cause}: the first call was right, so the model keeps something between "
        "calls that is no buffer, such as a Python number, or draws random numbers",
    )


def _median(function: Callable[..., Any], call: Call, calls: int) -> tuple[float, Any]:
    """Returns the median duration of calls, in seconds, and the result of the last one."""
    times = []
    for _ in range(max(calls, 1)):
        args, kwargs = copied(call.args), copied(call.kwargs)
        start = time.perf_counter()
        result = function(*args, **kwargs)
        times.append(time.perf_counter() - start)
    return statistics.median(times), result


def _same_structure(a: pytree.TreeSpec, b: pytree.TreeSpec) -> bool:
    """Returns whether two pytree structures are equal; of named tuples, compares name and fields.

    Their classes may differ: TorchScript makes a new class in each call.
    """
    if a == b:
        return True
    if a.type is not b.type or a.num_children != b.num_children:
        return False
    if a.type is collections.namedtuple:
        kinds = {(spec.context.__name__, spec.context._fields) for spec in (a, b)}
    else:
        kinds = {repr(spec.context) for spec in (a, b)}
    return len(kinds) == 1 and all(map(_same_structure, a.children(), b.children()))


def _compare_trees(expected: Any, actual: Any, exact: Exact | None = None) -> list[Difference]:
    expected_leaves, expected_spec = pytree.tree_flatten_with_path(expected)
    actual_leaves, actual_spec = pytree.tree_flatten(actual)
    if not _same_structure(expected_spec, actual_spec):
        cause = "the result has another structure than eager's"
        return [Difference("result", False, float("inf"), float("inf"), cause)]
    return [
        _compare_leaf(f"result{pytree.keystr(path)}", leaf, other, _Truth(exact, index))
        for index, ((path, leaf), other) in enumerate(
            zip(expected_leaves, actual_leaves, strict=True)
        )
    ]


def _compare_state(
    program: Program, eager: Callable[..., Any], executable: Executable | EntryPoint
) -> list[Difference]:
    if isinstance(eager.model, Recorded):
        buffers = eager.model.state
    elif isinstance(eager.model, torch.nn.Module):
        model = eager.model
        holder = model.model if isinstance(model, WithGradients) else model
        attributes = named_attributes(holder) if isinstance(holder, torch.nn.Module) else {}
        buffers = {
            program.tied.get(name, name): tensor
            for name, tensor in (
                *attributes.items(),
                *model.named_parameters(remove_duplicate=False),
                *model.named_buffers(remove_duplicate=False),
            )
        }
    else:
        return []
    return [
        _compare_leaf(f"state[{name!r}]", buffers[name], value, _Truth())
        for name, value in executable.state.items()
        if name in buffers
    ]


def _compare_leaf(name: str, expected: Any, actual: Any, truth: _Truth) -> Difference:
    if type(expected) is type(actual) is float:
        return _compare_numbers(name, expected, actual)
    if not isinstance(expected, torch.Tensor):
        same = type(expected) is type(actual) and expected == actual
        cause = None if same else f"{actual!r}, eager gives {expected!r}"
        return Difference(name, same, 0.0 if same else float("inf"), 0.0, cause)
    for attribute in ("dtype", "shape"):
        theirs, ours = getattr(expected, attribute), getattr(actual, attribute, None)
        if theirs != ours:
            cause = f"{attribute} {ours}, eager gives {theirs}"
            return Difference(name, False, float("inf"), float("inf"), cause)
    expected, actual = expected.detach(), actual.detach()
    if expected.dtype not in _TOLERANCE:
        return _compare_exact(name, expected, actual)
    return _compare_floating(name, expected, actual, truth)


def _compare_numbers(name: str, expected: float, actual: float) -> Difference:
    """Compares Python floats, in single precision if eager's is a single-precision number."""
    theirs, ours = (torch.tensor(value, dtype=torch.float64) for value in (expected, actual))
    if torch.equal(theirs.float().double(), theirs) or math.isnan(expected):
        theirs = theirs.float()
    return _compare_floating(name, theirs, ours, _Truth())


def _compare_exact(name: str, expected: torch.Tensor, actual: torch.Tensor) -> Difference:
    wrong = int((expected != actual).sum())
    if not wrong:
        return Difference(name, True, 0.0, 0.0)
    gap = float((expected.double() - actual.double()).abs().max())
    cause = f"{wrong} of {expected.numel()} elements differ from eager's"
    return Difference(name, False, gap, gap / max(float(expected.double().abs().max()), 1.0), cause)


def _compare_floating(
    name: str, expected: torch.Tensor, actual: torch.Tensor, truth: _Truth
) -> Difference:
    wide = torch.complex128 if expected.is_complex() else torch.float64
    theirs, ours = expected.to(wide), actual.to(wide)
    finite = torch.isfinite(theirs)
    same_special = torch.equal(torch.isnan(theirs), torch.isnan(ours)) and bool(
        (theirs[~finite & ~torch.isnan(theirs)] == ours[~finite & ~torch.isnan(theirs)]).all()
    )
    if not same_special or not bool(torch.isfinite(ours[finite]).all()):
        cause = "NaN or infinity where eager has another value, or the other way round"
        return Difference(name, False, float("inf"), float("inf"), cause)
    if not bool(finite.any()):
        return Difference(name, True, 0.0, 0.0)
    gap = float((theirs - ours)[finite].abs().max())
    scale = float(theirs[finite].abs().max())
    relative = gap / scale if scale else (0.0 if gap == 0 else float("inf"))
    tolerance = _TOLERANCE[expected.dtype]
    if relative <= tolerance:
        return Difference(name, True, gap, relative)
    exact = truth.leaf()
    if exact is not None and exact.shape == theirs.shape:
        own = float((exact - theirs)[finite].abs().max())
        if expected.dtype == torch.float64:
            own = max(own, truth.results.rounding)
        error = float((exact - ours)[finite].abs().max())
        if error <= _AGAINST_EAGER * own:
            return Difference(name, True, gap, relative)
        cause = f"{error:.3g} from the float64 result, eager is {own:.3g} from it"
        return Difference(name, False, gap, relative, cause)
    cause = f"differs by {gap:.3g}, {relative:.3g} of the largest value (allowed {tolerance:g})"
    if truth.problem:
        cause += f" (no float64 result: {truth.problem})"
    return Difference(name, False, gap, relative, cause)
