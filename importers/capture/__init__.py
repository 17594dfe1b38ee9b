"""Captures a live model as a Program."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any

import torch

from importers.capture import strategies
from importers.capture.arguments import copy_shared_tensors, refuse_written_aliases
from importers.capture.captured_sizes import (
    all_guards,
    check_dynamic,
    with_relations,
)
from importers.capture.decompositions import decompose
from importers.capture.dynamic_shapes import Declared
from importers.capture.fake_kernels import corrected_fake_kernels
from importers.capture.make_fx import MakeFx, WithGradients
from importers.capture.notes import capture_notes
from importers.capture.python_state import LostTensor, refuse_lost_tensors
from importers.capture.signature import read_signature, read_weights, with_strides
from importers.capture.submodule import (
    call_as_forward,
    has_only_call,
    is_method_of_module,
    method_as_module,
    submodule,
)
from importers.capture.tensor_subclasses import separate_inner_tensors
from importers.capture.torchscript import as_module, example_of, is_torchscript
from importers.captured_program import CapturedProgram
from importers.detection import PADDING, fixed_size
from importers.ir_file import IrEntry, ir_program
from importers.onnx.base import OnnxBase
from importers.quantized import IN_INTEGERS, in_integers
from importers.repairs import apply_repairs
from unmess.core.errors.error import Error
from unmess.core.errors.quiet import quiet_pytorch
from unmess.core.program.note import Note
from unmess.core.program.program import Attempt, Program


def capture(
    model: torch.nn.Module | Callable[..., Any] | torch.export.ExportedProgram,
    args: tuple[Any, ...] = (),
    kwargs: dict[str, Any] | None = None,
    *,
    dynamic_shapes: Any = None,
    strategy: str = "auto",
    name: str | None = None,
    keep_ops: Collection[str] = (),
    only: str | None = None,
) -> Program:
    """Captures a live model. See `unmess.capture`, which takes model strings too.

    Args:
        keep_ops: operators that are not decomposed, such as `aten.softmax.int` or `aten.gelu`.
        only: the module to capture, see `submodule`; None for the whole model.

    Raises:
        Error: stage `usage` or `capture`.
    """
    with quiet_pytorch(), corrected_fake_kernels():
        if only is None:
            return _capture(model, args, kwargs, dynamic_shapes, strategy, name, keep_ops)
        part = submodule(model, only, _as_tuple(args), dict(kwargs or {}))
        label = f"{name}.{only}" if name else only
        call = part.args, part.kwargs, dynamic_shapes
        program = _capture(part.model, *call, strategy, label, keep_ops)
        program.notes = (*part.notes, *program.notes)
        return program


def _capture(
    model: torch.nn.Module | Callable[..., Any] | torch.export.ExportedProgram,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None,
    dynamic_shapes: Any,
    strategy: str,
    name: str | None,
    keep_ops: Collection[str],
) -> Program:
    start = time.perf_counter()
    restore, quantized, specialized = None, False, ()
    if isinstance(model, OnnxBase):
        from importers.capture.onnx import capture_onnx

        def capture_module(module: Any, args: tuple, shapes: Any) -> CapturedProgram:
            own_name = name or "onnx"
            return _capture(module, args, None, shapes, strategy, own_name, keep_ops)

        program = capture_onnx(
            model, _as_tuple(args), dict(kwargs or {}), dynamic_shapes, capture_module
        )
        program.seconds["capture"] = time.perf_counter() - start
        return program
    if isinstance(model, IrEntry):
        return ir_program(model, _as_tuple(args), dict(kwargs or {}), dynamic_shapes, name)
    if is_method_of_module(model):
        model = method_as_module(model)
    if has_only_call(model):
        model = call_as_forward(model)
    if isinstance(model, torch.export.ExportedProgram):
        if dynamic_shapes:
            raise Error(
                "usage",
                "dynamic_shapes is given for an ExportedProgram, whose dynamic dimensions are "
                "fixed",
                hint="pass dynamic_shapes to torch.export.export",
            )
        _check_exported(model)
        exported, attempts, eager = model, (), model.module()
        if not args and not kwargs and model.example_inputs is not None:
            args, kwargs = model.example_inputs
        declared = Declared(_as_tuple(args), dict(kwargs or {}))
    elif callable(model):
        module = model
        if is_torchscript(model):
            module = as_module(model)
            if not args and not kwargs:
                args = example_of(model) or ()
        with fixed_size(module) as restore, in_integers(module) as quantized:
            own = copy_shared_tensors(module, _as_tuple(args), dict(kwargs or {}))
            exported, attempts, declared, specialized = strategies.export(
                module, *own, dynamic_shapes, strategy
            )
        eager = model
    else:
        raise Error(
            "usage",
            f"cannot capture a {type(model).__name__}",
            hint="pass an nn.Module, a function, an ExportedProgram or a model string",
        )
    exported = separate_inner_tensors(exported)
    original = exported
    known = len(all_guards(original))
    exported, decompositions = decompose(exported, keep_ops)
    exported, repairs = apply_repairs(exported)
    weights, tied = read_weights(exported)
    added = all_guards(original)[known:]
    signature, relations = with_relations(
        read_signature(exported, eager, weights), original, declared.axes, added
    )
    signature = replace(with_strides(signature, original), restore=restore)
    if written := set(exported.graph_signature.user_inputs_to_mutate.values()):
        values = signature.flatten_call(_as_tuple(args), dict(kwargs or {}))
        refuse_written_aliases({**weights, **values}, written)
    fixed = check_dynamic(signature, declared)
    program = CapturedProgram(
        name=name or _name(model),
        exported=exported,
        undecomposed=original,
        signature=signature,
        weights=weights,
        tied=tied,
        eager=_with_gradients(eager, attempts, declared),
        args=declared.args,
        kwargs=declared.kwargs,
        attempts=attempts,
        specialized=specialized,
    )
    program.notes = (
        *capture_notes(model, program),
        *((Note("bounded", PADDING),) if restore else ()),
        *((Note("quantized", IN_INTEGERS),) if quantized else ()),
        *declared.notes,
        *relations,
        *fixed,
        *decompositions,
        *repairs,
    )
    program.seconds["capture"] = time.perf_counter() - start
    return program


def _check_exported(exported: torch.export.ExportedProgram) -> None:
    try:
        refuse_lost_tensors(exported)
    except LostTensor as problem:
        raise Error(
            "capture",
            f"the ExportedProgram has a weight without values: {problem}",
            where=problem.where,
            hint="pass the module itself, or replace `.data` by `.detach()` before the export",
        ) from problem


def _with_gradients(
    eager: Callable[..., Any], attempts: tuple[Attempt, ...], declared: Declared
) -> Callable[..., Any]:
    if attempts and attempts[-1].strategy == MakeFx.name:
        return WithGradients(eager, declared.args, declared.kwargs)
    return eager


def _as_tuple(args: Any) -> tuple[Any, ...]:
    """Returns `args` as a tuple. A single tensor becomes the only argument."""
    if isinstance(args, torch.Tensor):
        return (args,)
    if isinstance(args, (tuple, list)):
        return tuple(args)
    raise Error(
        "usage",
        f"args is a {type(args).__name__}, not a tuple",
        hint="pass a tuple of positional arguments",
    )


def _name(model: Any) -> str:
    if isinstance(model, torch.export.ExportedProgram):
        return "exported"
    return getattr(model, "__name__", None) or type(model).__name__
