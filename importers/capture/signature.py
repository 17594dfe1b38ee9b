"""Reads the Signature and the weights of an ExportedProgram."""

from __future__ import annotations

import inspect
from collections.abc import Callable
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
from unmess.core.signature.dim import Dim
from unmess.core.signature.signature import (
    Argument,
    Constant,
    Input,
    Result,
    ScalarSpec,
    TensorSpec,
)
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
