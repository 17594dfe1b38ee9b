"""An ONNX graph as a PyTorch module."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

import onnx
import torch

from importers.onnx.graph import GraphRunner
from importers.onnx.value import NeedsValue, Value
from unmess.core.errors.error import Error

# Inputs of more elements are data, not shapes or options.
_MOST_FIXED = 256


class OnnxModule(torch.nn.Module):
    """Computes an ONNX graph with PyTorch's operators.

    The parameters of `forward` are the graph's inputs, without those in `fixed`.
    """

    def __init__(
        self,
        graph: onnx.GraphProto,
        runner: GraphRunner,
        names: Mapping[str, str],
        weights: Mapping[str, torch.Tensor],
    ):
        """Registers the weights as buffers.

        Args:
            names: the graph's inputs and their Python names.
            weights: initializers that are not constants, by name.
        """
        super().__init__()
        # In tuples, so that PyTorch does not copy or track them.
        self._graph = (graph, runner)
        self._names = dict(names)
        self._fixed: tuple[Mapping[str, torch.Tensor], ...] = ({},)
        self._places = {name: _place(self, name, tensor) for name, tensor in weights.items()}

    @property
    def fixed(self) -> Mapping[str, torch.Tensor]:
        """The inputs and weights that are constants of the capture, by name."""
        return self._fixed[0]

    def fix_what_is_needed(self, example: Mapping[str, torch.Tensor]) -> None:
        """Fixes the inputs and weights whose values determine shapes, as constants.

        Args:
            example: a value for each input.

        Raises:
            Error: stage `import`, if shapes are computed from large tensors; or what a run of the
                graph raises.
        """
        while True:
            try:
                with torch.no_grad():
                    self.run({name: t for name, t in example.items() if name not in self.fixed})
                return
            except NeedsValue as problem:
                missing = problem.sources - self.fixed.keys()
                values = {name: self._value(name, example) for name in missing}
                if not missing or any(value.numel() > _MOST_FIXED for value in values.values()):
                    raise Error(
                        "import",
                        str(problem),
                        hint="compute shapes, axes and counts from constants and sizes, not from "
                        "data",
                    ) from problem
                self._fixed = ({**self.fixed, **values},)

    def run(self, inputs: Mapping[str, torch.Tensor]) -> tuple[torch.Tensor, ...]:
        """Runs the graph on the inputs that are not fixed, and returns its outputs."""
        graph, runner = self._graph
        scope = {name: Value(t, sources=frozenset([name])) for name, t in inputs.items()}
        for name in self._places:
            if name not in self.fixed:
                scope[name] = Value(self._weight(name), sources=frozenset([name]))
        scope |= {name: Value(t, known=True) for name, t in self.fixed.items()}
        results = [value.tensor() for value in runner.run(graph, scope)]
        # PyTorch's exporter counts the same tensor as one result.
        return tuple(
            t.clone() if any(t is other for other in results[:i]) else t
            for i, t in enumerate(results)
        )

    def _value(self, name: str, example: Mapping[str, torch.Tensor]) -> torch.Tensor:
        value = example[name] if name in example else self._weight(name)
        return value.detach().clone()

    def _weight(self, name: str) -> torch.Tensor:
        holder, attribute = self._places[name]
        return getattr(self.get_submodule(holder), attribute)

    def callable_with(self, parameters: Sequence[str]) -> OnnxModule:
        """Changes the class of this module to one whose `forward` has these parameters."""
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        own = [inspect.Parameter(name, kind) for name in parameters]
        signature = inspect.Signature(own)

        def forward(self, *args: Any, **kwargs: Any) -> Any:
            call = signature.bind(*args, **kwargs).arguments
            given = {name: call[own] for name, own in self._names.items() if own in call}
            results = self.run(given)
            return results[0] if len(results) == 1 else results

        forward.__signature__ = inspect.Signature([inspect.Parameter("self", kind), *own])
        self.__class__ = type("OnnxModule", (OnnxModule,), {"forward": forward})
        return self.eval()


def _place(module: torch.nn.Module, name: str, tensor: torch.Tensor) -> tuple[str, str]:
    """Registers a buffer under the tensor's name if possible; returns its module and attribute."""
    *path, last = name.split(".")
    holder = module
    parts = [*path, last]
    if not all(parts) or any(
        not _is_free(module, parts[: i + 1], i < len(path)) for i in range(len(parts))
    ):
        path, last = [], name.replace(".", "_") or "_"
        while hasattr(module, last):
            last += "_"
    for part in path:
        if not hasattr(holder, part):
            holder.add_module(part, torch.nn.Module())
        holder = getattr(holder, part)
    holder.register_buffer(last, tensor)
    return ".".join(path), last


def _is_free(module: torch.nn.Module, path: Sequence[str], is_folder: bool) -> bool:
    """Returns True if a path is unused, or is a plain module that holds other weights."""
    holder = module
    for part in path[:-1]:
        holder = getattr(holder, part, None)
        if holder is None:
            return True
    found = getattr(holder, path[-1], None)
    return found is None or (is_folder and type(found) is torch.nn.Module)
