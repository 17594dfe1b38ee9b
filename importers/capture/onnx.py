"""Captures an ONNX model as a Program, from a module that runs its graph with PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from typing import Any

import torch
from torch.utils import _pytree as pytree

from importers.captured_program import CapturedProgram, OnnxProgram
from importers.onnx.model import OnnxModel, OnnxValue
from importers.onnx.module import OnnxModule
from unmess.core.errors.error import Error
from unmess.core.program.note import Note
from unmess.core.program.weights import brief
from unmess.core.signature.signature import Constant, Input
from unmess.core.signature.torch_signature import TorchSignature

# Captures a module: (module, args, dynamic shapes).
Capture = Callable[[OnnxModule, tuple, Any], CapturedProgram]


def capture_onnx(
    model: OnnxModel, args: tuple, kwargs: dict, dynamic_shapes: Any, capture: Capture
) -> OnnxProgram:
    """Captures an ONNX model with an example call.

    Raises:
        Error: stage `usage` for dynamic shapes, `source` for a call that does not fit, or `import`
            for an operator without a lowering; or any error of `capture`.
    """
    if dynamic_shapes:
        raise Error(
            "usage",
            "dynamic_shapes is given for an ONNX model, whose file declares its dynamic dimensions",
            hint="change the shapes in the file",
        )
    try:
        call = model.__signature__.bind(*args, **kwargs)
    except TypeError as problem:
        raise Error(
            "source",
            f"the example arguments do not fit the model: {problem}",
            hint=f"it takes ({', '.join(model.parameter_names)})",
        ) from None
    example = _checked(model, call.arguments)
    module = model.module()
    module.fix_what_is_needed(example)
    free = [value for value in model.inputs if value.name not in module.fixed]
    names = dict(zip((v.name for v in model.inputs), model.parameter_names, strict=True))
    module = module.callable_with([names[value.name] for value in free])
    program = _captured(module, free, names, example, capture)
    return _complete(program, model, module, call.args)


def _checked(model: OnnxModel, arguments: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Checks the example's tensors and returns them by their names in the graph.

    Raises:
        Error: stage `source`, for a tensor that does not fit the file.
    """
    example = {}
    for value, name in zip(model.inputs, model.parameter_names, strict=True):
        tensor = arguments[name]
        fits = (
            isinstance(tensor, torch.Tensor)
            and tensor.dtype == value.dtype
            and tensor.dim() == len(value.shape)
            and all(
                not isinstance(size, int) or size == own
                for size, own in zip(value.shape, tensor.shape, strict=True)
            )
        )
        if not fits:
            declared = "x".join([*map(str, value.shape), str(value.dtype).removeprefix("torch.")])
            given = (
                "x".join([*map(str, tensor.shape), str(tensor.dtype).removeprefix("torch.")])
                if isinstance(tensor, torch.Tensor)
                else f"a {type(tensor).__name__}"
            )
            raise Error(
                "source",
                f"the example arguments do not fit the model: {name} is {given}, "
                f"the file says {declared}",
                hint="give inputs of the shapes and types that are in the file",
            )
        example[value.name] = tensor
    return example


def _captured(
    module: OnnxModule,
    free: list[OnnxValue],
    names: Mapping[str, str],
    example: Mapping[str, torch.Tensor],
    capture: Capture,
) -> CapturedProgram:
    args = tuple(example[value.name] for value in free)
    shapes = _open_sizes(free, names)
    if shapes is None:
        return capture(module, args, None)
    try:
        return capture(module, args, shapes)
    except Error as problem:
        # The graph may fix a size that the file declares dynamic. `Dim.AUTO` lets PyTorch do so.
        found = {name: dict.fromkeys(axes, torch.export.Dim.AUTO) for name, axes in shapes.items()}
        try:
            program = capture(module, args, found)
        except Error:
            raise problem from None
        note = Note("sizes", f"the graph fixes sizes that are dynamic in the file: {problem.cause}")
        program.notes = (*program.notes, note)
        return program


def _open_sizes(
    free: list[OnnxValue], names: Mapping[str, str]
) -> dict[str, dict[int, Any]] | None:
    """Returns `dynamic_shapes` for the dynamic sizes of the file; None if there are none."""
    dims: dict[str, Any] = {}
    shapes: dict[str, dict[int, Any]] = {}
    for value in free:
        axes = {}
        for axis, size in enumerate(value.shape):
            if isinstance(size, str):
                axes[axis] = dims.setdefault(size, torch.export.Dim(size))
        shapes[names[value.name]] = axes
    return shapes if dims else None


def _complete(
    program: CapturedProgram, model: OnnxModel, module: OnnxModule, args: tuple
) -> OnnxProgram:
    """Adds the inputs that the capture fixed, so that the program takes the whole call."""
    names = dict(zip((v.name for v in model.inputs), model.parameter_names, strict=True))
    signature = program.signature
    captured = iter(signature.inputs)
    inputs = tuple(
        Input(names[value.name], Constant(module.fixed[value.name]))
        if value.name in module.fixed
        else next(captured)
        for value in model.inputs
    )
    given = {each.name: getattr(program, each.name) for each in fields(program)} | {
        "signature": _with_inputs(signature, inputs, model, args),
        "eager": model,
        "args": _enlarged(program, inputs, args),
        "kwargs": {},
    }
    completed = OnnxProgram(**given)
    fixed = [
        f"{names[name]} = {brief(value)}" for name, value in module.fixed.items() if name in names
    ]
    if fixed:
        note = Note("specialized", f"fixed to the example's values: {', '.join(fixed)}")
        completed.notes = (*completed.notes, note)
    if model.held_in_wider:
        note = Note(
            "types",
            "PyTorch does not compute with the element types of "
            f"{', '.join(model.held_in_wider)}; each element is stored in a wider type",
        )
        completed.notes = (*completed.notes, note)
    return completed


def _with_inputs(
    signature: TorchSignature, inputs: tuple[Input, ...], model: OnnxModel, args: tuple
) -> TorchSignature:
    return replace(
        signature,
        in_spec=pytree.tree_structure((args, {})),
        inputs=inputs,
        parameter_names=model.parameter_names,
    )


def _enlarged(program: CapturedProgram, inputs: tuple[Input, ...], args: tuple) -> tuple:
    """Returns the example call with the tensors that the capture may have enlarged."""
    captured = iter(program.args)
    return tuple(
        arg if isinstance(leaf.spec, Constant) else next(captured)
        for leaf, arg in zip(inputs, args, strict=True)
    )
