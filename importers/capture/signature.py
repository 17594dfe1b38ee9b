"""Reads the Signature, the weights and the memory layout of an ExportedProgram."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import torch
from torch.export.graph_signature import (
    ConstantArgument,
    InputKind,
    OutputKind,
    SymBoolArgument,
    SymFloatArgument,
    SymIntArgument,
    TensorArgument,
)

from importers.exporting import output_specs
from unmess.core.errors.error import Error
from unmess.core.program.weights import memory_key
from unmess.core.signature.signature import (
    Argument,
    Constant,
    Input,
    Result,
    ScalarSpec,
    TensorSpec,
)
from unmess.core.signature.size_expression import Dim
from unmess.core.signature.torch_signature import TorchSignature

_SCALARS = {SymIntArgument: int, SymFloatArgument: float, SymBoolArgument: bool}
_WEIGHT_KINDS = (InputKind.PARAMETER, InputKind.BUFFER, InputKind.CONSTANT_TENSOR)
_MUTATIONS = (
    OutputKind.BUFFER_MUTATION,
    OutputKind.PARAMETER_MUTATION,
    OutputKind.USER_INPUT_MUTATION,
)


def read_weights(
    exported: torch.export.ExportedProgram,
) -> tuple[dict[str, torch.Tensor], dict[str, str]]:
    """Returns the tensors that the graph uses, by name, and the other names of tied ones.

    Weights without a use (`num_batches_tracked` in evaluation mode) are omitted. Two weights are
    tied if they are the same elements of the same storage.
    """
    placeholders = {node.name: node for node in exported.graph.nodes if node.op == "placeholder"}
    mutated = _written(exported)
    weights: dict[str, torch.Tensor] = {}
    by_identity: dict[tuple, str] = {}
    tied: dict[str, str] = {}
    for spec in exported.graph_signature.input_specs:
        name = spec.target
        if spec.kind not in _WEIGHT_KINDS:
            continue
        if not placeholders[spec.arg.name].users and name not in mutated:
            continue
        # Non-persistent buffers and lifted constants are not in the state dict.
        tensor = exported.state_dict.get(name)
        if tensor is None:
            tensor = exported.constants[name]
        # A buffer that the model writes is never tied: it may share memory only at the start.
        identity = (name,) if name in mutated else memory_key(tensor)
        first = by_identity.setdefault(identity, name)
        if first == name:
            weights[name] = tensor
        else:
            tied[name] = first
    # Names without a placeholder in the graph may be tied too.
    for name, tensor in exported.state_dict.items():
        first = by_identity.get(memory_key(tensor), name)
        if first != name and name not in mutated:
            tied[name] = first
    return weights, tied


def _written(exported: torch.export.ExportedProgram) -> set[str]:
    """Returns the names of the buffers and parameters that the program writes: its state."""
    signature = exported.graph_signature
    return {*signature.buffers_to_mutate.values(), *signature.parameters_to_mutate.values()}


def read_signature(
    exported: torch.export.ExportedProgram,
    model: Callable[..., Any],
    weights: dict[str, torch.Tensor],
) -> TorchSignature:
    """Returns how the program's entry function maps to the model's call.

    The IR's arguments are the leaves of the call, then `weights` in their order. Its results are
    the model's own, then the new values of mutated buffers, parameters and inputs.

    Raises:
        Error: stage `capture`, for inputs that are neither tensors, numbers nor constants.
    """
    placeholders = {node.name: node for node in exported.graph.nodes if node.op == "placeholder"}
    nodes = {node.name: node for node in exported.graph.nodes}
    ranges = exported.range_constraints
    mutated = _written(exported)

    inputs: list[Input] = []
    for spec in exported.graph_signature.input_specs:
        if spec.kind == InputKind.USER_INPUT:
            inputs.append(Input(spec.arg.name, _leaf_spec(spec.arg, placeholders, ranges)))
        elif spec.kind not in _WEIGHT_KINDS:
            raise Error(
                "capture",
                f"the model has an argument of kind {spec.kind.name.lower()} ({spec.arg.name}), "
                "which is not supported",
                hint="pass tensors and numbers only",
            )
    arguments = [
        Argument("input", leaf.name, leaf.spec)
        for leaf in inputs
        if not isinstance(leaf.spec, Constant)
    ]
    arguments += [
        Argument(
            "state" if name in mutated else "weight",
            name,
            TensorSpec(tuple(tensor.shape), tensor.dtype),
        )
        for name, tensor in weights.items()
    ]

    results: list[Result] = []
    outputs: list[int | Constant] = []
    for spec in output_specs(exported):
        leaf = _leaf_spec(spec.arg, nodes, ranges)
        if spec.kind == OutputKind.USER_OUTPUT:
            outputs.append(leaf if isinstance(leaf, Constant) else len(results))
            if not isinstance(leaf, Constant):
                results.append(Result("output", spec.arg.name, leaf))
        elif spec.kind in _MUTATIONS:
            results.append(Result("state", spec.target, leaf))
        else:
            raise Error(
                "capture",
                f"the program has a result of kind {spec.kind.name.lower()} ({spec.arg.name}), "
                "which is not supported",
                hint="capture the model for inference, with eval() and without a loss",
            )
    return TorchSignature(
        in_spec=exported.call_spec.in_spec,
        inputs=tuple(inputs),
        arguments=tuple(arguments),
        results=tuple(results),
        out_spec=exported.call_spec.out_spec,
        outputs=tuple(outputs),
        parameter_names=_parameter_names(model),
    )


def _leaf_spec(argument, nodes, ranges) -> TensorSpec | ScalarSpec | Constant:
    if isinstance(argument, ConstantArgument):
        return Constant(argument.value)
    if isinstance(argument, TensorArgument):
        value = nodes[argument.name].meta["val"]
        return TensorSpec(tuple(_dim(size, ranges) for size in value.shape), value.dtype)
    for kind, scalar in _SCALARS.items():
        if isinstance(argument, kind):
            return ScalarSpec(scalar)
    raise Error(
        "capture",
        f"{argument.name} is a {type(argument).__name__}, which the IR cannot represent",
        hint="pass tensors and numbers only",
    )


def _dim(size: int | torch.SymInt, ranges) -> int | Dim:
    if isinstance(size, int):
        return size
    expression = size.node.expr
    if expression.is_Integer:
        return int(expression)
    bounds = ranges.get(expression)
    if bounds is None:
        return Dim(str(expression), 0, None)
    upper = int(bounds.upper) if bounds.upper.is_finite and bounds.upper < 2**31 else None
    return Dim(str(expression), int(bounds.lower), upper)


def _parameter_names(model: Callable[..., Any]) -> tuple[str, ...] | None:
    function = model.forward if isinstance(model, torch.nn.Module) else model
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return tuple(parameter.name for parameter in parameters if parameter.kind in positional)


# `aten::as_strided`, `as_strided_`, `as_strided_copy` and `as_strided_scatter`.
_READS_MEMORY = "aten::as_strided"
# The layout of their results does not depend on that of their operands.
_ROW_MAJOR = tuple(
    getattr(torch.ops.aten, name)
    for name in ("mm", "addmm", "bmm", "baddbmm", "linear", "embedding", "index_select", "gather")
)


def with_strides(
    signature: TorchSignature, exported: torch.export.ExportedProgram
) -> TorchSignature:
    """Requires the example's strides of every input that `as_strided` depends on.

    Args:
        exported: the result of torch.export. After decomposition, a program has further calls of
            `as_strided`, which PyTorch adds for the layout of the example.
    """
    strides = _strides(exported)

    def require(entry):
        if entry.name not in strides or not isinstance(entry.spec, TensorSpec):
            return entry
        return replace(entry, spec=replace(entry.spec, strides=strides[entry.name]))

    if not strides:
        return signature
    return replace(
        signature,
        inputs=tuple(map(require, signature.inputs)),
        arguments=tuple(
            require(argument) if argument.kind == "input" else argument
            for argument in signature.arguments
        ),
    )


def _strides(exported: torch.export.ExportedProgram) -> dict[str, tuple[int | None, ...]]:
    inputs = {
        spec.arg.name
        for spec in exported.graph_signature.input_specs
        if spec.kind == InputKind.USER_INPUT
    }
    found = {}
    for node in _dependencies(exported.graph):
        value = node.meta.get("val")
        if node.op == "placeholder" and node.name in inputs and isinstance(value, torch.Tensor):
            steps = value.stride()
            found[node.name] = tuple(step if isinstance(step, int) else None for step in steps)
    return found


def _dependencies(graph: torch.fx.Graph) -> set[torch.fx.Node]:
    """Returns the nodes that the layout of an operand of `as_strided` depends on."""
    found: set[torch.fx.Node] = set()
    pending = [
        operand
        for node in graph.nodes
        if any(map(_reads_memory, _operators(node)))
        for operand in node.all_input_nodes
    ]
    while pending:
        node = pending.pop()
        if node not in found and getattr(node.target, "overloadpacket", None) not in _ROW_MAJOR:
            found.add(node)
            pending += node.all_input_nodes
    return found


def _operators(node: torch.fx.Node) -> Iterator[object]:
    """Yields the operator that a node calls, and those of the graphs that it calls."""
    yield node.target
    for operand in node.all_input_nodes:
        if operand.op == "get_attr":
            body = getattr(operand.graph.owning_module, operand.target, None)
            if isinstance(body, torch.fx.GraphModule):
                for inner in body.graph.nodes:
                    yield from _operators(inner)


def _reads_memory(target: object) -> bool:
    return isinstance(target, torch._ops.OpOverload) and target._schema.name.startswith(
        _READS_MEMORY
    )
