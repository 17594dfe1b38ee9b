"""Compiles the graphs of AOTAutograd: functional, forward or backward."""

from __future__ import annotations

import contextlib
import inspect
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import torch
from torch._functorch.aot_autograd import make_boxed_func
from torch._guards import CompileContext
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import _disable_current_modes

from unmess.core.cache import artifacts
from unmess.core.errors.error import Error
from unmess.core.errors.failure import only_errors
from unmess.core.errors.user_source import is_users, node_line
from unmess.core.processes.current_stage import listening
from unmess.partition import PartitionedGraph, partition_graph
from unmess.progress import Progress
from unmess.torch_compile.aliases import separate_views, with_views
from unmess.torch_compile.options import Options

# The number of operators that one warning names.
_SHOWN = 5


@dataclass
class CompiledGraph:
    """A graph that was compiled inside `recorded_graphs`.

    Attributes:
        partitioned: its regions, and the operators outside of them.
        calls: the number of its calls so far.
    """

    partitioned: PartitionedGraph
    calls: int = 0

    def __call__(self, *operands: Any) -> Sequence[Any]:
        """Calls the graph and counts the call."""
        self.calls += 1
        return self.partitioned.graph_module.forward(*operands)


_RECORDED: ContextVar[list[CompiledGraph] | None] = ContextVar("recorded_graphs", default=None)


@contextlib.contextmanager
def recorded_graphs() -> Iterator[list[CompiledGraph]]:
    """Records the graphs that the backend compiles inside the `with` block, in a list."""
    found: list[CompiledGraph] = []
    token = _RECORDED.set(found)
    try:
        yield found
    finally:
        _RECORDED.reset(token)


@only_errors("capture")
def compile_graph(
    graph_module: torch.fx.GraphModule, _example_inputs: Sequence[Any], kind: str, options: Options
) -> Callable[[list[Any]], Sequence[Any]]:
    """Compiles a functional graph with fake tensors.

    Args:
        kind: `forward`, `backward` or `inference`, for messages.

    Returns:
        A function that takes the inputs as one list, which it empties, and returns the outputs.

    Raises:
        Error: the graph has tensors on other devices than the CPU, or it does not compile.
    """
    _refuse_devices(graph_module)
    graph_module, views = separate_views(graph_module)
    name = _name(kind)
    cache = contextlib.nullcontext() if options.cache else artifacts.switched_off()
    # Leave the fake tensor mode of the graph, in which AOTAutograd calls its compilers.
    with _disable_current_modes(), cache, _reported(name, graph_module, options.on):
        partitioned = partition_graph(
            graph_module,
            backend=options.on,
            options=options.partition,
            name=name,
            fallback=options.fallback,
        )
    _warn(name, partitioned)
    recorded = _RECORDED.get()
    if recorded is None:
        return make_boxed_func(with_views(partitioned.graph_module.forward, views))
    recorded.append(CompiledGraph(partitioned))
    return make_boxed_func(with_views(recorded[-1], views))


def _name(kind: str) -> str:
    """Returns the name of a graph for messages, with the number that PyTorch's logs have for it."""
    compile_id = CompileContext.current_compile_id()
    return f"graph {compile_id} ({kind})" if compile_id else f"graph ({kind})"


def _warn(name: str, partitioned: PartitionedGraph) -> None:
    """Warns of operators that run in eager PyTorch because they do not compile."""
    level = _level_of_user()
    for text in partitioned.warnings:
        warnings.warn(text, stacklevel=level)
    reasons: dict[str, str] = {}
    for each in partitioned.outside:
        if each.is_failure and not any(each.operator in text for text in partitioned.warnings):
            place = f" at {each.where}" if each.where else ""
            reasons.setdefault(each.operator, f"{each.operator}{place}: {each.reason}")
    if reasons:
        shown = "; ".join(list(reasons.values())[:_SHOWN])
        more = f"; and {len(reasons) - _SHOWN} more" if len(reasons) > _SHOWN else ""
        warnings.warn(
            f"{name}: these operators run in eager PyTorch, because they do not compile for the "
            f"runner: {shown}{more}",
            stacklevel=level,
        )


def _level_of_user() -> int:
    """Returns the `stacklevel` of the user's code, for a warning that the caller of this issues.

    The user's code calls the compiled function, or `backward`.
    """
    frame, level = inspect.currentframe().f_back, 1
    while frame is not None and not is_users(frame.f_code.co_filename):
        frame, level = frame.f_back, level + 1
    return level


def _refuse_devices(graph_module: torch.fx.GraphModule) -> None:
    for node in graph_module.graph.nodes:
        for value in pytree.tree_leaves(node.meta.get("val")):
            if isinstance(value, torch.Tensor) and value.device.type != "cpu":
                raise Error(
                    "capture",
                    f"{node.name} is on the device {value.device}; the backend unmess compiles "
                    "programs of the CPU only",
                    where=node_line(node),
                    hint="move the model and its inputs to the CPU",
                )


@contextlib.contextmanager
def _reported(name: str, graph_module: torch.fx.GraphModule, runner: str) -> Iterator[None]:
    """Shows the stages of the compilation and its duration on stderr, if that is a terminal."""
    progress = Progress(sys.stderr, quiet=not sys.stderr.isatty())
    start = time.perf_counter()
    with (
        progress.showing(),
        listening(lambda stage: progress.begin(f"torch.compile: {name}: {stage}")),
    ):
        yield
        count = sum(node.op == "call_function" for node in graph_module.graph.nodes)
        seconds = time.perf_counter() - start
        progress.finished(
            f"torch.compile: {name}: {count} operators for {runner} in {seconds:.1f} s"
        )
