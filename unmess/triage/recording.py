"""Records a model for triage. This is the code that runs in the worker.

The process that waits imports this file, too, so the libraries are imported when the work begins.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unmess.core.errors.quiet import quiet_libraries
from unmess.core.processes.children import limit_memory
from unmess.isolated.options import Options

if TYPE_CHECKING:
    from importers.sources.source import Source
    from unmess.triage.trace import Trace


def record(
    send: Callable[[Any], None], model: str, options: Options, level: str, folder: str
) -> None:
    """Records a model, and sends the trace.

    Args:
        level: `graph` for the graph of the captured program, `calls` for the functions that the
            model calls in eager.
        folder: for the values.
    """
    quiet_libraries()
    limit_memory(options.memory_mb)
    Path(folder).mkdir(parents=True, exist_ok=True)
    send((_graph if level == "graph" else _calls)(model, options, Path(folder)))


def children(send: Callable[[Any], None], model: str, options: Options) -> None:
    """Sends the names of the modules of a model, each with its direct children."""
    import torch

    quiet_libraries()
    module = _source(model, options).model
    if isinstance(module, torch.nn.Module) and not isinstance(module, torch.jit.ScriptModule):
        names = [name for name, _ in module.named_modules(remove_duplicate=False) if name]
        send({parent: _direct(parent, names) for parent in ["", *names]})
    else:
        send({})


def unstable(send: Callable[[Any], None], model: str, options: Options, folder: str) -> None:
    """Sends the first call whose result differs between calls of the model in eager, or None."""
    from unmess.triage.stability import unstable_call

    quiet_libraries()
    limit_memory(options.memory_mb)
    send(unstable_call(*_called(model, options), Path(folder)))


def _direct(parent: str, names: list[str]) -> list[str]:
    prefix = f"{parent}." if parent else ""
    return [n for n in names if n.startswith(prefix) and "." not in n[len(prefix) :] and n]


def _graph(model: str, options: Options, folder: Path) -> Trace:
    from importers.captured_program import CapturedProgram
    from unmess.captured import captured
    from unmess.core.errors.error import Error
    from unmess.triage.graph_recording import record_graph

    program = captured(model, **options.of_capture())
    if not isinstance(program, CapturedProgram):
        raise Error("usage", f"{model} has no graph of PyTorch")
    return record_graph(program, folder)


def _calls(model: str, options: Options, folder: Path) -> Trace:
    from unmess.triage.call_recording import record_calls

    return record_calls(*_called(model, options), folder)


def _called(model: str, options: Options) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    """Returns the model or one of its modules, with its example arguments."""
    from importers.capture.submodule import submodule

    source = _source(model, options)
    if options.only is None:
        return source.model, source.args, source.kwargs
    part = submodule(source.model, options.only, source.args, source.kwargs)
    return part.model, part.args, part.kwargs


def _source(model: str, options: Options) -> Source:
    from importers.sources import find_source
    from importers.sources.example_inputs import parse_inputs

    source = find_source(model, options.trust)
    args, kwargs = parse_inputs(options.inputs)
    if args or kwargs:
        source.args, source.kwargs = args, kwargs
    return source
