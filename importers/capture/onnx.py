"""An ONNX model as a Program: there is nothing to trace, the graph is given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from torch.utils import _pytree as pytree

from importers.onnx_model import OnnxModel, OnnxValue
from unmess.core.error import Error
from unmess.core.program import Program
from unmess.core.signature import Argument, Dim, Input, Result, Signature, TensorSpec


@dataclass
class OnnxProgram(Program):
    """A Program whose graph is an ONNX one; `exported` is None."""

    onnx: OnnxModel | None = None

    @property
    def strategy(self) -> str:
        """The graph was not captured here."""
        return "onnx"


def capture_onnx(
    model: OnnxModel, args: tuple, kwargs: dict, dynamic_shapes: Any, name: str | None
) -> OnnxProgram:
    """The Program of an ONNX model and an example call.

    Raises:
        Error: stage `usage`, for dynamic shapes; `source`, for a call that does not fit.
    """
    if dynamic_shapes:
        raise Error(
            "usage",
            "an ONNX model has its dynamic dimensions already",
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
    signature = _signature(model, call.args)
    program = OnnxProgram(
        name=name or "onnx",
        exported=None,
        signature=signature,
        weights=model.weights,
        tied={},
        eager=model,
        args=call.args,
        kwargs={},
        onnx=model,
    )
    signature.flatten_call(program.args, program.kwargs)
    return program


def _signature(model: OnnxModel, args: tuple) -> Signature:
    inputs = [
        Input(name, _spec(value))
        for name, value in zip(model.parameter_names, model.inputs, strict=True)
    ]
    weights = [
        Argument("weight", name, TensorSpec(tuple(tensor.shape), tensor.dtype))
        for name, tensor in model.weights.items()
    ]
    results = [Result("output", value.name, _spec(value)) for value in model.outputs]
    single = len(results) == 1
    return Signature(
        in_spec=pytree.tree_structure((args, {})),
        inputs=tuple(inputs),
        arguments=(*(Argument("input", leaf.name, leaf.spec) for leaf in inputs), *weights),
        results=tuple(results),
        out_spec=pytree.tree_structure(0 if single else tuple(results)),
        outputs=tuple(range(len(results))),
        parameter_names=model.parameter_names,
    )


def _spec(value: OnnxValue) -> TensorSpec:
    shape = tuple(size if isinstance(size, int) else Dim(size, 1, None) for size in value.shape)
    return TensorSpec(shape, value.dtype)
