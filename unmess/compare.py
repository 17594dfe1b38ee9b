"""Compares a program's results with eager PyTorch's, on the same inputs."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from importers.capture.make_fx import WithGradients
from importers.capture.tensor_attributes import named_attributes
from pipelines.backends.executable import Executable, ExecutableEntryPoint
from unmess.core.errors.error import Error
from unmess.core.errors.failure import only_errors
from unmess.core.processes.current_stage import enter_stage
from unmess.core.program.eager import Float64Reference, copied, eager_of, guarded
from unmess.core.program.note import Note
from unmess.core.program.program import Program
from unmess.core.program.recorded import Recorded
from unmess.difference import (
    Difference,
    Float64Leaf,
    changed_arguments,
    compare_leaf,
    compare_trees,
    tolerated,
)
from unmess.further_sizes import Call, further_calls
from unmess.plain_check import PlainCheck


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
        max_element_error: the largest difference relative to its own element.
        seconds: `capture`, `import`, `lower`, `compile`, `load`, and the medians of `run` and
            `eager`.
        notes: how the program differs from the given model, and how it was compared.
        sizes: the comparisons at further sizes, if dimensions are dynamic.
        entries: the Report of each entry point by name, if there are several.
        via: the output dialect whose IR ran, if one was given.
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
    max_element_error: float = field(init=False)

    def __post_init__(self) -> None:
        self.max_abs_error = max((d.max_abs_error for d in self.differences), default=0.0)
        self.max_rel_error = max((d.max_rel_error for d in self.differences), default=0.0)
        self.max_element_error = max((d.max_element_error for d in self.differences), default=0.0)

    @property
    def error(self) -> str | None:
        """The first difference that is too large, in one line."""
        wrong = next((d for d in self.differences if not d.ok), None)
        return None if wrong is None else f"{wrong.name}: {wrong.cause}"


@only_errors("run")
def compare(
    program: Program, executable: Executable | ExecutableEntryPoint, calls: int = 5
) -> Report:
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
            exact = Float64Reference(program.eager, example.args, example.kwargs, repeat)
            later = compare_trees(expected, actual, exact)
        else:
            # Without state, all calls of the program return the same result: compare eager's last
            # result with the program's first one.
            later = compare_trees(expected, first)
        later = tolerated(later, executable.tolerances)
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
        notes = [
            Note("sizes", "compared at the sizes of the example only: the ranges allow no others")
        ]
    # Read these notes last: the calls above decide how the reference of an ONNX model is computed.
    notes += [Note("comparison", text) for text in program.comparison_notes]
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
    return compare_trees(expected, actual, Float64Reference(model, args, kwargs))


def _compare_call(
    program: Program,
    call: Call,
    eager: Callable[..., Any],
    executable: Executable | ExecutableEntryPoint,
) -> tuple[Any, list[Difference]]:
    """Returns eager's result, and all differences of the executable from eager."""
    expected = eager(*copied(call.args), **copied(call.kwargs))
    args, kwargs = copied(call.args), copied(call.kwargs)
    actual = executable(*args, **kwargs)
    enter_stage("compare")
    differences = compare_trees(
        expected, actual, Float64Reference(program.eager, call.args, call.kwargs)
    )
    differences += _compare_state(program, eager, executable)
    differences += changed_arguments((call.args, call.kwargs), (args, kwargs))
    differences = tolerated(differences, executable.tolerances)
    enter_stage("run")
    return expected, differences


def _compare_sizes(
    program: Program, call: Call, executable: Executable | ExecutableEntryPoint
) -> tuple[SizeCheck, list[Difference]]:
    """Compares at other sizes; returns the outcome and the results that are wrong."""
    eager = eager_of(program)
    try:
        eager(*copied(call.args), **copied(call.kwargs))
    except Error as error:
        if isinstance(program.eager, Recorded):
            # A Recorded refuses every call but the recorded one, even if the model would accept it.
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
    call: Call, refusal: Error, executable: Executable | ExecutableEntryPoint
) -> tuple[SizeCheck, list[Difference]]:
    """Checks that the executable refuses a call that eager refuses."""
    try:
        executable(*copied(call.args), **copied(call.kwargs))
    except Error:
        return SizeCheck(call.sizes, None, refusal.cause), []
    cause = f"eager raises an exception, but {executable.runner} gives a result: {refusal.cause}"
    wrong = Difference(f"call with {call}", False, float("inf"), float("inf"), cause)
    return SizeCheck(call.sizes, False, cause), [wrong]


def _drifted(difference: Difference, call: int) -> Difference:
    return replace(
        difference,
        name=f"{difference.name} of call {call}",
        cause=f"{difference.cause}: the first call matched, so the model either keeps state "
        "outside of buffers, such as a Python number, or draws random numbers",
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


def _compare_state(
    program: Program, eager: Callable[..., Any], executable: Executable | ExecutableEntryPoint
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
        compare_leaf(f"state[{name!r}]", buffers[name], value, Float64Leaf())
        for name, value in executable.state.items()
        if name in buffers
    ]
