"""Captures a rewritten graph of a program again, with the program's example and dynamic sizes."""

from __future__ import annotations

import inspect
from typing import Any

import torch
from torch.utils import _pytree as pytree

from importers.capture import capture
from importers.captured_program import CapturedProgram, OnnxProgram
from importers.quantized import is_quantized
from unmess.core.errors.error import Error
from unmess.core.errors.quiet import quiet_pytorch
from unmess.core.program.eager import copied
from unmess.core.signature.signature import Constant, TensorSpec
from unmess.core.signature.size_expression import Dim


def undecomposed(program: CapturedProgram, purpose: str) -> torch.export.ExportedProgram:
    """Returns the graph of a program as `torch.export` captured it.

    That of a model with layers of `torch.ao.nn.quantized`, and of an ONNX model with QuantizeLinear
    nodes, has quantize and dequantize operators.

    Args:
        purpose: what needs it, for the message.

    Raises:
        Error: stage `usage`, if the program has none, or an input of an ONNX model was fixed.
    """
    eager = getattr(program, "eager", None)
    if isinstance(eager, torch.nn.Module) and is_quantized(eager):
        # Imported here to save start-up time.
        from importers.quantized.dequantized import dequantized_layers

        with quiet_pytorch(), dequantized_layers(eager):
            return torch.export.export(
                eager,
                program.args,
                program.kwargs,
                dynamic_shapes=_dynamic_shapes(eager, program),
            )
    if isinstance(program, OnnxProgram) and eager.is_quantized:
        _refuse_fixed_inputs(program, purpose)
        program = capture(eager.with_quantize_operators(), program.args, program.kwargs)
    graph = getattr(program, "undecomposed", None)
    if graph is None:
        raise Error(
            "usage",
            f"{program.name} is not a captured PyTorch model, which {purpose} needs",
            hint="capture the model itself, not IR or several entry points",
        )
    return graph


def _refuse_fixed_inputs(program: OnnxProgram, purpose: str) -> None:
    fixed = [each.name for each in program.signature.inputs if isinstance(each.spec, Constant)]
    if fixed:
        raise Error(
            "usage",
            f"the capture fixed the inputs {', '.join(fixed)}, which {purpose} does not support",
            hint="make them constants in the file",
        )


def recaptured(module: torch.fx.GraphModule, program: CapturedProgram) -> CapturedProgram:
    """Captures `module`, which takes the arguments of `program`."""
    again = capture(
        module,
        program.args,
        program.kwargs,
        dynamic_shapes=_dynamic_shapes(module, program),
        strategy="non-strict",
        name=program.name,
    )
    again.notes = (*program.notes, *(each for each in again.notes if each not in program.notes))
    return again


def largest_error(program: CapturedProgram, module: torch.nn.Module) -> str:
    """Describes how far `module` is from a program's eager on the example, such as `1.2e-03`.

    It is the largest difference of a result, relative to the largest value of that result.
    """
    with torch.no_grad():
        expected = pytree.tree_leaves(copied(program.eager)(*program.args, **program.kwargs))
        found = pytree.tree_leaves(module(*program.args, **program.kwargs))
    errors = [
        float((a.float() - b.float()).abs().max() / a.float().abs().max().clamp(min=1e-30))
        for a, b in zip(expected, found, strict=True)
        if isinstance(a, torch.Tensor) and a.is_floating_point() and a.numel()
    ]
    return f"{max(errors, default=0.0):.1e}"


def _dynamic_shapes(module: torch.nn.Module, program: CapturedProgram) -> Any:
    """Returns the dynamic dimensions of a program as `torch.export` takes them."""
    dims: dict[str, Any] = {}
    leaves = [_axes(each.spec, dims) for each in program.signature.inputs]
    if not any(leaves):
        return None
    args, kwargs = pytree.tree_unflatten(leaves, program.signature.in_spec)
    names = list(inspect.signature(module.forward).parameters)
    return dict(zip(names, args, strict=False)) | kwargs


def _axes(spec: Any, dims: dict[str, Any]) -> dict[int, Any] | None:
    if not isinstance(spec, TensorSpec):
        return None
    found = {}
    for axis, size in enumerate(spec.shape):
        if isinstance(size, Dim):
            if size.expression.isidentifier():
                found[axis] = dims.setdefault(
                    size.expression,
                    torch.export.Dim(size.expression, min=size.min, max=size.max),
                )
            else:
                found[axis] = torch.export.Dim.AUTO
    return found or None
