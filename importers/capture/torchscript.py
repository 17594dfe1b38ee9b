"""Wraps TorchScript modules and functions as ordinary modules that every strategy can capture.

`torch.export` refuses a `ScriptModule`. `as_module` returns an `nn.Module` with the same weights
under the same names. Its `forward` evaluates the TorchScript graph operator by operator. Branches,
loops, lists and dicts execute in Python, so sizes may stay symbolic. Operators are recorded with
the source line that TorchScript kept for them.
"""

from __future__ import annotations

import contextlib
import inspect
import re
import traceback
from collections.abc import Iterable, Iterator
from typing import Any

import torch

from importers.capture import torchscript_operators as operators
from importers.capture.stack_traces import is_interesting, recorded_frames
from importers.capture.tensor_attributes import changes_its_form, is_alike
from unmess.core.errors.error import Error
from unmess.core.errors.user_source import is_users

_FRAME = re.compile(r'File "([^"]+)", line (\d+)|^(\S+\.py)\((\d+)\): (\S+)', re.M)
_TRACER = re.compile(r"torch[/\\]jit[/\\]_trace\.py$")


def is_torchscript(model: Any) -> bool:
    """Returns True if `model` is a scripted or traced module, function or method."""
    return isinstance(
        model, (torch.jit.ScriptModule, torch.jit.ScriptFunction, torch._C.ScriptMethod)
    )


def as_module(model: Any) -> TorchScript:
    """Returns a module that evaluates the TorchScript `model` and shares its tensors.

    Raises:
        Error: stage `source`, for a module without a `forward`.
    """
    if isinstance(model, torch.jit.ScriptFunction):
        return TorchScript(None, model.inlined_graph, model.schema)
    if isinstance(model, torch._C.ScriptMethod):
        return TorchScript(model.owner, model.inlined_graph, model.schema)
    if not hasattr(model, "forward"):
        methods = ", ".join(name for name in model._c._method_names() if name[0] != "_")
        raise Error(
            "source",
            f"the TorchScript module {model.original_name} has no forward"
            + (f" (it has {methods})" if methods else ""),
            hint="script or trace a module with a forward, or capture one of its methods",
        )
    return TorchScript(model, model.inlined_graph, model.forward.schema)


def example_of(model: Any) -> tuple[Any, ...] | None:
    """Returns the arguments that a module in memory was traced with; None for a scripted one."""
    if not isinstance(model, torch.jit.ScriptModule):
        return None
    inputs = dict(model._c._retrieve_traced_inputs().items()).get("forward")
    return None if inputs is None else tuple(inputs)


class TorchScript(torch.nn.Module):
    """Evaluates a TorchScript graph over the weights of the module it belongs to."""

    def __init__(
        self,
        scripted: torch.jit.ScriptModule | None,
        graph: torch._C.Graph,
        schema: torch._C.FunctionSchema,
    ):
        super().__init__()
        if scripted is not None:
            _take_tensors(self, scripted)
            self.train(getattr(scripted, "training", False))  # a frozen module has none
        self._graph = _Graph(graph, has_self=scripted is not None, scripted=scripted)
        if scripted is not None:
            _take_state(self, scripted, self._graph.assigned)
        for name, tensor in self._graph.constants.items():
            self.register_buffer(name, tensor, persistent=False)
        self.forward = self._make_forward(schema, skip=int(scripted is not None))

    def _make_forward(self, schema: torch._C.FunctionSchema, skip: int):
        """Returns a `forward` with the parameters of `schema`; `torch.export` uses their names."""
        parameters = [
            inspect.Parameter(
                argument.name,
                inspect.Parameter.POSITIONAL_OR_KEYWORD,
                default=argument.default_value
                if argument.has_default_value()
                else inspect.Parameter.empty,
            )
            for argument in schema.arguments[skip:]
        ]
        signature = inspect.Signature(parameters)

        def forward(*args, **kwargs):
            call = signature.bind(*args, **kwargs)
            call.apply_defaults()
            return self._graph.evaluate(self, list(call.arguments.values()))

        forward.__signature__ = signature
        return forward


def _take_tensors(module: torch.nn.Module, scripted: torch.jit.ScriptModule) -> None:
    """Registers the parameters and buffers of `scripted` in `module`, under the same names."""
    for path, child in scripted.named_modules():
        shadow = _descend(module, path)
        for name, value in child.named_parameters(recurse=False):
            if not isinstance(value, torch.nn.Parameter):
                value = torch.nn.Parameter(value.detach(), requires_grad=value.requires_grad)
            shadow.register_parameter(name, value)
        for name, value in child.named_buffers(recurse=False):
            shadow.register_buffer(name, value)


def _take_state(
    module: torch.nn.Module, scripted: torch.jit.ScriptModule, assigned: Iterable[str]
) -> None:
    """Registers buffers for plain tensor attributes of `scripted` that its code assigns."""
    for path, child in scripted.named_modules():
        shadow = _descend(module, path)
        for name in assigned:
            value = getattr(child, name, None)
            if isinstance(value, torch.Tensor) and name not in {
                *shadow._parameters,
                *shadow._buffers,
            }:
                shadow.register_buffer(name, value, persistent=False)


def _descend(module: torch.nn.Module, path: str) -> torch.nn.Module:
    """Returns the submodule at `path`. Creates missing ones as plain modules."""
    for name in filter(None, path.split(".")):
        if name not in module._modules:
            module.add_module(name, torch.nn.Module())
        module = module._modules[name]
    return module


class _Object:
    """A module of the TorchScript graph, or an object of a class that the graph creates.

    Tensors are read from the shadow module, whose tensors `torch.export` replaces while it traces.
    `assigned` are the names of all attributes that the graph assigns anywhere.

    Attributes:
        written: the assigned values, by path; shared by all objects of one evaluation.
    """

    def __init__(
        self,
        scripted: Any,
        shadow: Any,
        written: dict[str, Any],
        assigned: frozenset[str] = frozenset(),
        path: str = "",
    ):
        self._scripted = scripted
        self._assigned = assigned
        self._shadow = shadow
        self._path = path
        self.written = written

    def get(self, name: str) -> Any:
        path = self._inner(name)
        if path in self.written:
            return self.written[path]
        if self._shadow is not None:
            if name in self._shadow._parameters:
                return self._shadow._parameters[name]
            if name in self._shadow._buffers:
                buffer = self._shadow._buffers[name]
                if name in self._assigned:
                    # Clone, so that other references to the old tensor keep its value.
                    buffer = self.written[path] = buffer.clone()
                return buffer
            value = getattr(self._scripted, name)
            if isinstance(value, torch.jit.ScriptModule):
                shadow = self._shadow._modules[name]
                return _Object(value, shadow, self.written, self._assigned, path)
            return value
        raise Error("capture", f"the scripted code reads {name} before it is set")

    def set(self, name: str, value: Any) -> None:
        path = self._inner(name)
        if self._shadow is not None and not (
            name in self._shadow._buffers and isinstance(value, torch.Tensor)
        ):
            raise Error(
                "capture",
                f"the scripted module writes self.{path}, a {type(value).__name__}",
                hint="keep state in tensors that exist from the start (register_buffer)",
            )
        self.written[path] = value

    def _inner(self, name: str) -> str:
        return f"{self._path}.{name}" if self._path else name


class _Graph:
    """An inlined TorchScript graph, prepared for evaluation."""

    def __init__(self, graph: torch._C.Graph, *, has_self: bool, scripted: Any):
        self._graph = graph
        self._has_self = has_self
        self._scripted = scripted
        # Tensor constants become buffers of the module, so that they are weights like any other.
        self.constants: dict[str, torch.Tensor] = {}
        self._constant_names: dict[str, str] = {}
        nodes = list(_nodes(graph))
        self.assigned = frozenset(n.s("name") for n in nodes if n.kind() == "prim::SetAttr")
        for node in nodes:
            if node.kind() == "prim::Constant":
                value = node.output().toIValue()
                if isinstance(value, torch.Tensor) and not _is_size(value):
                    name = f"constant_{len(self.constants)}"
                    self._constant_names[node.output().debugName()] = name
                    self.constants[name] = value

    def __deepcopy__(self, memo: dict) -> _Graph:
        """Returns the graph itself: it is immutable, and the module holds the weights."""
        return self

    def evaluate(self, module: TorchScript, arguments: list[Any]) -> Any:
        """Evaluates the graph for `arguments`, with the weights of `module`."""
        written: dict[str, Any] = {}
        given = [_Object(self._scripted, module, written, self.assigned)] if self._has_self else []
        given += arguments
        inputs = list(self._graph.inputs())
        values = {
            value.debugName(): _converted(argument, value.type())
            for value, argument in zip(inputs, given, strict=True)
        }
        evaluation = _Evaluation(module, self._constant_names, values)
        with evaluation.source_lines():
            results = operators.without_size_tensors(evaluation.block(self._graph))
            # An assigned buffer stays the same object, with new contents.
            for path, value in written.items():
                buffer = module.get_buffer(path)
                if not is_alike(buffer, value):
                    raise changes_its_form(path, buffer, value)
                buffer.copy_(value)
        return results[0] if len(results) == 1 else tuple(results)


def _is_size(constant: torch.Tensor) -> bool:
    """Returns True if a constant may be an int that tracing recorded in arithmetic on sizes."""
    return constant.dim() == 0 and constant.dtype == torch.int64


def _converted(value: Any, type_: torch._C.Type) -> Any:
    """Converts an argument as TorchScript does: an int for a float parameter becomes a float."""
    if type_.kind() == "FloatType" and isinstance(value, int):
        return float(value)
    if type_.kind() == "ListType" and isinstance(value, (list, tuple)):
        return list(value)
    return value


def _nodes(block: Any) -> Iterator[torch._C.Node]:
    for node in block.nodes():
        yield node
        for inner in node.blocks():
            yield from _nodes(inner)


class CollectedGraph:
    """A TorchScript graph that was recorded with lazy tensors.

    Each element of `inputs` is a name of the state, the position of a leaf of the call, or a
    constant tensor. `constants` has the constants with dimensions, by buffer name. Scalar constants
    stay numbers.
    """

    def __init__(self, graph: torch._C.Graph, inputs: list[str | int | torch.Tensor]):
        self._graph = graph
        self._inputs = list(inputs)
        self.constants: dict[str, torch.Tensor] = {}
        for index, value in enumerate(inputs):
            if isinstance(value, torch.Tensor):
                if value.dim() == 0:
                    self._inputs[index] = operators.SizeTensor(value.item(), value.dtype)
                else:
                    name = f"constant_{len(self.constants)}"
                    self.constants[name] = value
                    self._inputs[index] = name

    def evaluate(
        self, module: torch.nn.Module, state: dict[str, torch.Tensor], leaves: list[Any]
    ) -> list[Any]:
        """Returns the graph's results. `state` must include the constants."""
        values = {}
        for value, what in zip(self._graph.inputs(), self._inputs, strict=True):
            if isinstance(what, str):
                what = state[what]
            elif isinstance(what, int):
                what = leaves[what]
            values[value.debugName()] = what
        evaluation = _Evaluation(module, {}, values)
        with evaluation.source_lines():
            return operators.without_size_tensors(evaluation.block(self._graph))


class _Evaluation:
    """One evaluation of a graph."""

    def __init__(
        self, module: torch.nn.Module, constant_names: dict[str, str], values: dict[str, Any]
    ):
        self._module = module
        self._constant_names = constant_names
        self._values = values
        self._node: torch._C.Node | None = None

    def block(self, block: Any) -> list[Any]:
        """Evaluates the nodes of a block and returns its outputs.

        Adds the attribute `where`, the user's source line, to exceptions.
        """
        for node in block.nodes():
            self._node = node
            try:
                self._evaluate(node)
            except Exception as problem:
                if getattr(problem, "where", None) is None:
                    problem.where = user_frame(node)
                raise
        return [self._values[value.debugName()] for value in block.outputs()]

    def source_lines(self) -> contextlib.AbstractContextManager[None]:
        """Gives traced nodes the source line of the TorchScript node, inside the `with` block."""
        return recorded_frames(lambda _tracer: source_frames(self._node))

    def _evaluate(self, node: torch._C.Node) -> None:
        kind = node.kind()
        if kind == "prim::Constant":
            results = [self._constant(node)]
        elif kind == "prim::If":
            results = self._if(node)
        elif kind == "prim::Loop":
            results = self._loop(node)
        elif kind == "prim::GetAttr":
            results = [self._operands(node)[0].get(node.s("name"))]
        elif kind == "prim::SetAttr":
            owner, value = self._operands(node)
            owner.set(node.s("name"), value)
            results = []
        elif kind == "prim::CreateObject":
            results = [_Object(None, None, {})]
        elif kind in ("prim::fork", "prim::Closure"):
            results = self._subgraph(node)
        else:
            results = self._call(node)
        for value, result in zip(node.outputs(), results, strict=True):
            self._values[value.debugName()] = result

    def _operands(self, node: torch._C.Node) -> list[Any]:
        return [self._values[value.debugName()] for value in node.inputs()]

    def _constant(self, node: torch._C.Node) -> Any:
        name = self._constant_names.get(node.output().debugName())
        if name is not None:
            return getattr(self._module, name)
        value = node.output().toIValue()
        return operators.SizeTensor(int(value)) if isinstance(value, torch.Tensor) else value

    def _if(self, node: torch._C.Node) -> list[Any]:
        (condition,) = self._operands(node)
        then, otherwise = node.blocks()
        return self.block(then if condition else otherwise)

    def _loop(self, node: torch._C.Node) -> list[Any]:
        trips, condition, *carried = self._operands(node)
        (body,) = node.blocks()
        counter, *names = [value.debugName() for value in body.inputs()]
        index = 0
        while index < trips and condition:
            self._values[counter] = index
            self._values.update(zip(names, carried, strict=True))
            condition, *carried = self.block(body)
            index += 1
        return carried

    def _subgraph(self, node: torch._C.Node) -> list[Any]:
        """Evaluates a forked task immediately. `aten::wait` returns its result."""
        graph = node.g("Subgraph")
        names = (value.debugName() for value in graph.inputs())
        values = dict(zip(names, self._operands(node), strict=True))
        results = _Evaluation(self._module, self._constant_names, values).block(graph)
        return [results[0] if len(results) == 1 else tuple(results)]

    def _call(self, node: torch._C.Node) -> list[Any]:
        operands = self._operands(node)
        result = operators.call(node, operands)
        count = node.outputsSize()
        if count == 1:
            return [result]
        return list(result) if count else []


def source_frames(node: torch._C.Node) -> list[traceback.FrameSummary]:
    """Returns the Python frames that TorchScript kept for a node, outermost first."""
    frames = []
    if node.hasAttribute("source"):
        return []  # recorded with lazy tensors: the frames are of the recording code
    for file, line, traced_file, traced_line, function in _FRAME.findall(node.sourceRange()):
        if _TRACER.search(traced_file):
            break  # the outer frames are the call of torch.jit.trace
        frame = traceback.FrameSummary(
            file or traced_file, int(line or traced_line), function or "forward"
        )
        if is_interesting(frame.filename, frame.name):
            frames.append(frame)
    return frames[::-1]


def user_frame(node: torch._C.Node) -> str | None:
    """Returns the innermost line of the user's code for a node, as `file:line`, or None."""
    for frame in reversed(source_frames(node)):
        if is_users(frame.filename):
            return f"{frame.filename}:{frame.lineno}"
    return None
