"""Compares a model under `torch.compile` with eager PyTorch, on the model's example arguments."""

from __future__ import annotations

import contextlib
import copy
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import torch
import torch._inductor.config
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry

from importers.sources import find_source
from importers.sources.source import Source
from unmess.compare import compare_results
from unmess.core.errors.error import Error, first_line
from unmess.core.errors.quiet import quiet_libraries
from unmess.core.errors.user_source import user_line
from unmess.core.processes.children import limit_memory
from unmess.core.program.eager import copied
from unmess.partition.levels import flops_of, is_heavy
from unmess.torch_compile.graphs import CompiledGraph, recorded_graphs

# The arguments of `torch.compile` by the name of a compiler.
COMPILERS: dict[str, dict[str, Any]] = {
    "unmess": {"backend": "unmess", "options": {"on": "reference"}},
    "inductor": {"backend": "inductor"},
}

_Result = TypeVar("_Result")


@dataclass
class ModelCheck:
    """The result of a model under `torch.compile`.

    Attributes:
        model: the model string.
        compiler: a key of `COMPILERS`.
        ok: whether the results of both calls match eager's.
        stage: where it stopped: a stage of `unmess.Error`, `eager` if eager PyTorch fails,
            `compare` for a wrong result, `crash` for an exception that is no `unmess.Error`, or
            `done`.
        error, where: the cause in one line, and the user's source line; None if there is none.
        max_rel_error: the largest difference, relative to the largest magnitude of its tensor.
        graphs: the number of graphs of TorchDynamo.
        share: the share of the floating-point operations of a call that run in compiled regions,
            0 to 1; None if the second call has not run, or the compiler is not unmess.
        outside: the operators that run in eager because they do not compile, with the reasons.
        breaks: why TorchDynamo divides the model in several graphs.
        seconds: `source`, `compile` (the first call) and `run` (the second call).
    """

    model: str
    compiler: str
    ok: bool = False
    stage: str = "source"
    error: str | None = None
    where: str | None = None
    max_rel_error: float | None = None
    graphs: int = 0
    share: float | None = None
    outside: list[str] = field(default_factory=list)
    breaks: list[str] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)


def check_model(work: tuple[str, str, float | None]) -> ModelCheck:
    """Compares a model with eager. Changes settings of the process, so call it in one of its own.

    Args:
        work: the model string; a key of `COMPILERS`; the memory that the process may allocate, in
            10**6 bytes, or None.
    """
    model, compiler, memory_mb = work
    quiet_libraries()
    limit_memory(memory_mb)
    # Eager's sums depend on the number of threads.
    torch.set_num_threads(1)
    torch._inductor.config.compile_threads = 1
    check = ModelCheck(model, compiler)
    try:
        with warnings.catch_warnings():
            # Each operator that does not compile causes a warning.
            warnings.simplefilter("ignore")
            source = _timed(check, "source", lambda: find_source(model))
            # Load the model again: copies of PyTorch's quantized modules have other results.
            check_source(source, find_source(model).model, check)
    except Exception as problem:
        _fail(check, problem)
    return check


def check_source(source: Source, eager: Callable[..., Any], check: ModelCheck) -> None:
    """Compares two calls of a model with eager, and writes the results to `check`.

    Args:
        eager: the same model once more, since both may write to their buffers.

    Raises:
        Exception: the model raises it in eager, or under `torch.compile`. `check.stage` says which.
    """
    check.stage = "eager"
    # On a copy, since the call may write to buffers.
    _called(copy.deepcopy(eager), source)
    check.stage = "capture"
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    compiled = torch.compile(source.model, **COMPILERS[check.compiler])
    counters = torch._dynamo.utils.counters
    with recorded_graphs() as graphs:
        # The second call uses the code that the first one has compiled.
        for step in ("compile", "run"):
            for graph in graphs:
                graph.calls = 0
            try:
                with _HeavyFlops() if step == "run" else contextlib.nullcontext() as counter:
                    result = _timed(check, step, lambda: _called(compiled, source))
            finally:
                check.graphs = counters["stats"]["unique_graphs"]
                check.breaks = sorted({key.splitlines()[0] for key in counters["graph_break"]})
                check.outside = _outside(graphs)
            if counter is not None and check.compiler == "unmess":
                check.share = _compiled_share(graphs, counter.total)
            if not _is_right(check, eager, source, result):
                return
    check.ok, check.stage = True, "done"


def _is_right(check: ModelCheck, eager: Callable[..., Any], source: Source, result: Any) -> bool:
    check.stage = "compare"
    torch.manual_seed(0)
    differences = compare_results(eager, source.args, source.kwargs, result)
    largest = max((each.max_rel_error for each in differences), default=0.0)
    check.max_rel_error = max(largest, check.max_rel_error or 0.0)
    wrong = next((each for each in differences if not each.ok), None)
    if wrong is not None:
        check.error = f"{wrong.name}: {wrong.cause}"
        return False
    check.stage = "run"
    return True


def _called(model: Callable[..., Any], source: Source) -> Any:
    torch.manual_seed(0)
    with torch.no_grad():
        return model(*copied(source.args), **copied(source.kwargs))


class _HeavyFlops(TorchDispatchMode):
    """Counts the operations of matrix products and convolutions that run in eager.

    Replaces PyTorch's own counter, under which TorchDynamo does not run compiled code.
    """

    def __init__(self) -> None:
        super().__init__()
        self.total = 0

    @classmethod
    def is_infra_mode(cls) -> bool:
        """Returns True: TorchDynamo runs compiled code under this mode."""
        return True

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        """Called for each operator; see PyTorch's `TorchDispatchMode`."""
        result = func(*args, **(kwargs or {}))
        formula = flop_registry.get(func.overloadpacket)
        if formula is not None:
            self.total += formula(*args, **(kwargs or {}), out_val=result)
        return result


def _compiled_share(graphs: Sequence[CompiledGraph], eager: int) -> float:
    """Returns the share of the floating-point operations of one call in compiled regions.

    Args:
        graphs: the compiled graphs, with the number of their calls.
        eager: the operations of matrix products and convolutions that ran in eager, in graphs and
            outside of all graphs.
    """
    total = compiled = 0
    for graph in graphs:
        outside = [each.node for each in graph.partitioned.outside]
        eager -= graph.calls * sum(flops_of(node) for node in outside if is_heavy(node))
        total += graph.calls * graph.partitioned.flops
        compiled += graph.calls * sum(region.flops for region in graph.partitioned.regions)
    total += max(eager, 0)
    if not total:
        return 1.0 if graphs else 0.0
    return compiled / total


def _outside(graphs: Sequence[CompiledGraph]) -> list[str]:
    failures = [
        f"{each.operator}: {each.reason}"
        for graph in graphs
        for each in graph.partitioned.outside
        if each.is_failure
    ]
    return list(dict.fromkeys(failures))


def _timed(check: ModelCheck, step: str, function: Callable[[], _Result]) -> _Result:
    start = time.perf_counter()
    try:
        return function()
    finally:
        check.seconds[step] = round(time.perf_counter() - start, 2)


def _fail(check: ModelCheck, problem: Exception) -> None:
    """Writes to `check` why a model has stopped."""
    if isinstance(problem, Error):
        stage = "eager" if check.stage == "eager" else problem.stage
        check.stage, check.error, check.where = stage, problem.cause, problem.where
        return
    check.error, check.where = first_line(problem), user_line(problem)
    if isinstance(problem, torch._dynamo.exc.Unsupported | torch._dynamo.exc.UserError):
        check.error = f"TorchDynamo does not trace it: {check.error}"
    elif check.stage not in ("source", "eager"):
        check.stage = "crash"
