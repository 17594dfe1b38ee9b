"""Compiles the graphs of TorchDynamo by way of AOTAutograd."""

from __future__ import annotations

import atexit
import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from types import FrameType
from typing import Any

import torch
from torch._dynamo.backends.common import aot_autograd
from torch._dynamo.exc import BackendCompilerFailed

from unmess.core.errors.error import Error
from unmess.torch_compile.graphs import compile_graph
from unmess.torch_compile.options import read_options

# TorchDynamo keeps compiled graphs until the interpreter has ended. IREE's bindings would then
# print a list of all objects that these graphs hold.
atexit.register(torch._dynamo.reset)


def backend(
    graph_module: torch.fx.GraphModule,
    example_inputs: Sequence[Any],
    *,
    options: Mapping[str, Any] | None = None,
    mode: str | None = None,
) -> Callable[..., Any]:
    """Compiles a graph of TorchDynamo: the function that `torch.compile` calls.

    AOTAutograd makes the graph functional and splits it in forward and backward, if gradients are
    needed. It applies mutations of inputs and restores aliases of inputs outside of the compiled
    graphs.

    Args:
        graph_module: the graph, with torch functions.
        example_inputs: fake tensors and symbolic numbers.
        options: see `Options`.
        mode: must be None.

    Raises:
        Error: `torch.compile` was given wrong options, or the graph does not compile and
            `fallback` is None.
    """
    try:
        chosen = read_options(options, mode)
        compilers = {
            f"{key}_compiler": functools.partial(compile_graph, kind=kind, options=chosen)
            for key, kind in (("fw", "forward"), ("bw", "backward"), ("inference", "inference"))
        }
        return aot_autograd(**compilers)(graph_module, example_inputs)
    except Error as problem:
        raise CompileError(problem, inspect.currentframe()) from problem.__cause__


class CompileError(BackendCompilerFailed, Error):
    """An `unmess.Error` that TorchDynamo passes on as it is.

    TorchDynamo replaces other exceptions of a backend by its own `BackendCompilerFailed`, or drops
    the compiled function.
    """

    def __init__(self, error: Error, frame: FrameType | None):
        """Copies the fields of an error.

        Args:
            frame: the first frame that the traceback shows; TorchDynamo removes those before it.
        """
        Error.__init__(
            self, error.stage, error.cause, where=error.where, hint=error.hint, repro=error.repro
        )
        self.backend_name = "unmess"
        self.inner_exception = error
        self.first_useful_frame = frame

    def __reduce__(self):
        return self.inner_exception.__reduce__()
