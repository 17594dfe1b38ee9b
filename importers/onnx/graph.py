"""Runs an ONNX graph with PyTorch, node by node."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import onnx
import torch
from torch._guards import detect_fake_mode
from torch.utils._python_dispatch import _disable_current_modes

# Importing the package registers its lowerings.
import importers.onnx.operators  # noqa: F401
from importers.onnx.functions import body_of_operator, bound
from importers.onnx.node import Node
from importers.onnx.registry import Lowering, lowering_of
from importers.onnx.sizes import computed_sizes
from importers.onnx.value import NeedsValue, Value, joint_sources, known_array
from unmess.core.errors.error import Error, first_line

# The most elements of results that are constant-folded during the capture.
_FOLDED = 4096
# These run subgraphs, which may use outer values, or draw random numbers.
_NOT_FOLDED = frozenset(
    {"If", "Loop", "Scan", "Bernoulli", "Dropout", "Multinomial"}
    | {"RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"}
)

Scope = Mapping[str, Value]


@dataclass(frozen=True)
class GraphRunner:
    """Runs the graphs of a model.

    Attributes:
        opsets: the opset version of each domain.
        functions: the functions that the model defines, by domain and name.
        types: the inferred element types of values, by name.
        replaced: lowerings that replace those of the registry, by domain and name. Their operators
            are not constant-folded.
    """

    opsets: dict[str, int]
    functions: dict[tuple[str, str], onnx.FunctionProto]
    types: dict[str, int]
    replaced: Mapping[tuple[str, str], Lowering] = field(default_factory=dict)

    def run(
        self,
        graph: onnx.GraphProto | onnx.FunctionProto,
        inputs: Scope,
        outer: Scope | None = None,
    ) -> list[Value]:
        """Runs a graph and returns the values of its outputs.

        Args:
            inputs: the values of the graph's inputs, by name.
            outer: values of the enclosing graph, by name, if this is a subgraph.

        Raises:
            NeedsValue: an operator needs a value that depends on the inputs.
            Error: stage `import`, for an operator without a lowering; `source`, for one that fails.
        """
        scope = ChainMap(dict(inputs), *([outer] if outer is not None else []))
        # In loops and branches, `outer` has stand-in tensors for the constants.
        given = {} if outer is None else outer
        for tensor in getattr(graph, "initializer", ()):
            if tensor.name not in inputs and tensor.name not in given:
                scope[tensor.name] = constant(tensor)
        for node in graph.node:
            if node.op_type == "Constant" and node.output[0] in given:
                continue
            results = self._node(node, scope)
            for name, value in zip(node.output, results, strict=False):
                if name:
                    scope[name] = value
        names = [each if isinstance(each, str) else each.name for each in graph.output]
        # An unused output of a function may have no node that computes it.
        return [scope.get(name) for name in names]

    def _node(self, proto: onnx.NodeProto, scope: Scope) -> Sequence[Value]:
        domain = "" if proto.domain == "ai.onnx" else proto.domain
        values = tuple(scope[name] if name else None for name in proto.input)
        opset = self.opsets.get(domain, 1)
        node = Node(proto, values, self.types, opset, partial(self._subgraph, scope), scope)
        own = self.functions.get((domain, proto.op_type))
        if own is not None:
            return self._function(bound(own, proto), values)
        lowering = self.replaced.get((domain, proto.op_type))
        if lowering is not None:
            return self._computed(node, lowering, foldable=False)
        lowering = lowering_of(domain, proto.op_type)
        if lowering is None:
            body = body_of_operator(proto, values, opset)
            if body is None:
                raise Error(
                    "import",
                    f"onnx.{node.operator} (opset {opset}) has no lowering",
                    hint="write the model without this operator, or with a simpler form of it",
                )
            return self._function(body, values)
        return self._computed(node, lowering)

    def _computed(self, node: Node, lowering: Lowering, foldable: bool = True) -> list[Value]:
        given = [value for value in node.values if value is not None]
        sources = joint_sources(given)
        try:
            if foldable and node.proto.op_type not in _NOT_FOLDED and given:
                if all(value.known for value in given):
                    with _disable_current_modes(), torch.no_grad():
                        results = _results(lowering(node, *_real(node.values)), sources, True)
                    if sum(value.data.numel() for value in results if value) <= _FOLDED:
                        return results
                elif all(value.known or value.is_sizes for value in given):
                    sizes = computed_sizes(node)
                    if sizes is not None:
                        return _results(sizes, sources)
            return _results(lowering(node, *_tensors(node.values)), sources)
        except (Error, NeedsValue):
            raise
        except Exception as problem:
            name = f" ({node.proto.name})" if node.proto.name else ""
            problem.add_note(f"in the ONNX node {node.operator}{name}")
            if isinstance(problem, (RuntimeError, ValueError, TypeError, IndexError, KeyError)):
                _rethrow(node, name, problem)
            raise

    def _function(
        self, body: onnx.FunctionProto, values: Sequence[Value | None]
    ) -> list[Value | None]:
        inputs = dict(zip(body.input, values, strict=False))
        opsets = {"" if o.domain == "ai.onnx" else o.domain: o.version for o in body.opset_import}
        inner = replace(self, opsets={**self.opsets, **opsets}, types={})
        # Inside the function, an omitted input has an empty name.
        missing = {name for name in body.input if inputs.get(name) is None}
        copy = onnx.FunctionProto()
        copy.CopyFrom(body)
        for node in copy.node:
            for index, name in enumerate(node.input):
                if name in missing:
                    node.input[index] = ""
        return inner.run(copy, {name: v for name, v in inputs.items() if v is not None})

    def _subgraph(
        self,
        scope: Scope,
        graph: onnx.GraphProto,
        values: Sequence[Value],
        outer: Scope | None = None,
    ) -> list[Value]:
        names = [value.name for value in graph.input]
        around = ChainMap({**(outer or {})}, scope)
        return self.run(graph, dict(zip(names, values, strict=False)), around)


def constant(tensor: onnx.TensorProto) -> Value:
    """Converts an initializer to a known value."""
    return known_array(onnx.numpy_helper.to_array(tensor))


def _rethrow(node: Node, name: str, problem: Exception) -> None:
    """Raises an `Error` for a problem with real tensors. Leaves exceptions to an active tracer."""
    if detect_fake_mode() is not None:
        return
    raise Error(
        "source",
        f"the ONNX operator {node.operator}{name} fails: {first_line(problem)}",
        hint="check the model and its inputs with onnx.checker and onnxruntime",
    ) from problem


def _tensors(values: Sequence[Value | None]) -> list[torch.Tensor | None]:
    return [None if value is None else value.tensor() for value in values]


def _real(values: Sequence[Value | None]) -> list[torch.Tensor | None]:
    return [None if value is None else value.data for value in values]


def _results(results: Any, sources: frozenset[str], known: bool = False) -> list[Value | None]:
    each = results if isinstance(results, (tuple, list)) else (results,)
    return [None if result is None else _value(result, sources, known) for result in each]


def _value(result: Any, sources: frozenset[str], known: bool) -> Value:
    if isinstance(result, Value):
        return result
    if isinstance(result, np.ndarray):
        if not all(isinstance(number, int) for number in result.flat):
            return Value(result, sources=sources)
        # Static sizes depend on no values.
        return known_array(result.astype(np.int64))
    return Value(result, known, sources)
