"""Times one configuration on the runners and in eager, in a worker process."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import torch

from benchmarks.cliffs.configurations import Configuration, tensors_in
from benchmarks.cliffs.quantized import quantized_layer

# The number of turns of each side, and the seconds of a turn, which has at least one call. A side
# has no further turn when all its calls together have taken longer than the last number.
_TURNS, _SECONDS, _IN_ALL = 5, 0.03, 1.0
# A configuration is not timed if a call in eager takes longer, in seconds.
EAGER_LIMIT = 1.0
# Memory for one configuration, in 10**6 bytes.
_MEMORY = 6e3


class Work(NamedTuple):
    """A configuration to time.

    Attributes:
        operator, args: of the configuration.
        runners: names of runners.
        threads: for all sides.
    """

    operator: str
    args: dict[str, Any]
    runners: tuple[str, ...]
    threads: int


def measure(work: Work) -> dict[str, Any]:
    """Returns seconds of each side and failures of runners, or why nothing was timed."""
    try:
        return _measure(work)
    except Exception as problem:
        return {"skipped": _line(problem)}


def measure_call(work: Work) -> dict[str, Any]:
    """Returns the same for a program that adds two single numbers, the shortest call."""
    return _timed(torch.add, (torch.ones(1), torch.ones(1)), work, 0)


def _measure(work: Work) -> dict[str, Any]:
    torch.manual_seed(0)
    configuration = Configuration(work.operator, work.args)
    if configuration.family == "quantized":
        model = quantized_layer(configuration)
        args = (torch.rand(work.args["input"]["shape"]),)
        # A float accumulator rounds differently, which changes a result by one of 256 steps.
        return _timed(model, args, work, 2e-2)
    model = _Call(configuration)
    return _timed(model, model.example, work, 1e-3)


def _timed(model: Callable, args: tuple, work: Work, tolerance: float) -> dict[str, Any]:
    import unmess

    _set_threads(work.threads)
    failures = {}
    with tempfile.TemporaryDirectory() as folder, torch.no_grad():
        # The programs would fill the user's cache.
        os.environ["UNMESS_CACHE"] = folder
        model(*args)
        start = time.perf_counter()
        expected = model(*args)
        if (seconds := time.perf_counter() - start) > EAGER_LIMIT:
            return {"skipped": f"a call takes eager {seconds:.1f} s"}
        calls = {"eager": model}
        try:
            program = unmess.capture(model, args)
        except Exception as problem:
            return {"skipped": f"capture: {_line(problem)}"}
        for runner in work.runners:
            try:
                call = unmess.load(program, on=runner)
                if not _agree(call(*args), expected, tolerance):
                    raise ValueError("the result differs from eager's")
            except Exception as problem:
                failures[runner] = _line(problem)
                continue
            calls[runner] = call
        return {"times": _by_turns(calls, args), "failures": failures}


def _set_threads(threads: int) -> None:
    """Sets the number of threads of all sides. IREE takes it when it creates its device."""
    import iree.runtime

    torch.set_num_threads(threads)
    iree.runtime.flags.parse_flags(f"--task_topology_max_group_count={threads}")


def _by_turns(calls: dict[str, Callable], args: tuple) -> dict[str, dict[str, float]]:
    """Returns the least elapsed and the least CPU seconds of a call, for each side.

    A side runs several times in a row, because threads of the previous side wait actively.
    """
    elapsed = {side: [] for side in calls}
    cpu = {side: [] for side in calls}
    for _ in range(_TURNS):
        for side, call in calls.items():
            if sum(elapsed[side]) > _IN_ALL:
                continue
            # An untimed call, during which the threads of the previous side stop waiting actively.
            call(*args)
            spent = 0.0
            while spent < _SECONDS:
                start, cpu_start = time.perf_counter(), time.process_time()
                call(*args)
                seconds = time.perf_counter() - start
                elapsed[side].append(seconds)
                cpu[side].append(time.process_time() - cpu_start)
                spent += seconds
    return {side: {"elapsed": min(elapsed[side]), "cpu": min(cpu[side])} for side in calls}


class _Call(torch.nn.Module):
    """Calls one operator. Its weights are buffers, the other tensors are arguments.

    Attributes:
        example: values of the arguments.
    """

    def __init__(self, configuration: Configuration):
        super().__init__()
        name, overload = configuration.operator.removeprefix("aten.").rsplit(".", 1)
        self._overload = getattr(getattr(torch.ops.aten, name), overload)
        self._args = configuration.args
        tensors = list(tensors_in(configuration.args))
        # Integers are indices of the other tensors. They must be valid along every dimension.
        sizes = [size for each in tensors if "int" not in each["dtype"] for size in each["shape"]]
        self._highest = max(min(sizes, default=2), 1)
        self._is_weight = [each["is_weight"] for each in tensors]
        values = [self._tensor(each) for each in tensors]
        for index, value in enumerate(values):
            if self._is_weight[index]:
                self.register_buffer(f"weight{index}", value)
        self.example = tuple(
            value for index, value in enumerate(values) if not self._is_weight[index]
        )

    def forward(self, *inputs: torch.Tensor) -> Any:
        """Calls the operator."""
        given = iter(inputs)
        tensors = iter(
            [
                getattr(self, f"weight{index}") if is_weight else next(given)
                for index, is_weight in enumerate(self._is_weight)
            ]
        )
        values = {name: _filled(value, tensors) for name, value in self._args.items()}
        positional = []
        for argument in self._overload._schema.arguments:
            if argument.kwarg_only or argument.name not in values:
                break
            positional.append(values.pop(argument.name))
        return self._overload(*positional, **values)

    def _tensor(self, described: dict[str, Any]) -> torch.Tensor:
        dtype, shape = getattr(torch, described["dtype"]), described["shape"]
        if dtype.is_floating_point:
            # Positive, for variances, and because sums near 0 have large relative errors.
            return (torch.rand(shape) + 0.5).to(dtype)
        if dtype.is_complex:
            return torch.randn(shape, dtype=dtype)
        if dtype == torch.bool:
            return torch.rand(shape) < 0.5
        return torch.randint(self._highest, shape, dtype=dtype)


def _filled(value: Any, tensors: Any) -> Any:
    if isinstance(value, dict) and "shape" in value:
        return next(tensors)
    if isinstance(value, dict):
        return getattr(torch, value["is_dtype"])
    if isinstance(value, list):
        return [_filled(each, tensors) for each in value]
    return value


def _agree(result: Any, expected: Any, tolerance: float) -> bool:
    pairs = zip(_tensors(result), _tensors(expected), strict=True)
    return all(_close(one.double(), other.double(), tolerance) for one, other in pairs)


def _close(result: torch.Tensor, expected: torch.Tensor, tolerance: float) -> bool:
    largest = float(expected.abs().max()) if expected.numel() else 0.0
    return torch.allclose(result, expected, rtol=0, atol=tolerance * largest, equal_nan=True)


def _tensors(tree: Any) -> list[torch.Tensor]:
    leaves = torch.utils._pytree.tree_leaves(tree)
    return [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]


def _line(problem: BaseException) -> str:
    lines = str(problem).splitlines() or [""]
    return f"{type(problem).__name__}: {lines[0]}"[:200]
