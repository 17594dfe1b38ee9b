"""An ONNX model: its inputs, outputs and weights, and a reference result to compare with."""

from __future__ import annotations

import copy
import inspect
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from onnx.external_data_helper import ExternalDataInfo, uses_external_data

from importers.onnx.base import OnnxBase
from importers.onnx.element_types import HELD_IN_WIDER, dtype_of, to_numpy, to_torch
from importers.onnx.graph import GraphRunner
from importers.onnx.module import OnnxModule
from importers.onnx.reference import ReferenceResult
from unmess.core.errors.error import Error

# Integer initializers of up to this many elements are constants: shapes, axes, indices.
_SMALL = 64
_INTEGERS = frozenset({onnx.TensorProto.INT64, onnx.TensorProto.INT32, onnx.TensorProto.BOOL})


@dataclass(frozen=True)
class OnnxValue:
    """An input or output of a model.

    Attributes:
        name: the name in the file.
        shape: sizes, or the names of dynamic sizes. A size without a name in the file gets one made
            of the value's name and the axis.
        dtype: the dtype of the tensor that holds it.
        code: the ONNX element type.
    """

    name: str
    shape: tuple[int | str, ...]
    dtype: torch.dtype
    code: int


class OnnxModel(OnnxBase):
    """An ONNX model. Calling it returns the result of a reference implementation.

    Attributes:
        inputs, outputs: in the file's order.
        weights: the initializers that are not constants, by name. External data is memory-mapped.
        reference: runs the model as it is in the file.

    Raises:
        Error: stage `source`, for inputs that are not tensors and for missing external data.
        Exception: from the package onnx, for an invalid graph.
    """

    def __init__(self, proto: onnx.ModelProto, folder: Path):
        self._folder = folder
        initialized = {tensor.name for tensor in proto.graph.initializer}
        given = [value for value in proto.graph.input if value.name not in initialized]
        self.inputs = tuple(map(_value, given))
        self.outputs = tuple(_value(value, any_rank=True) for value in proto.graph.output)
        self.weights: dict[str, torch.Tensor] = {}
        self.reference = ReferenceResult(proto, folder)
        self._graph = _checked(proto, given)
        for tensor in proto.graph.initializer:
            if _is_weight(tensor):
                self.weights[tensor.name] = self._read(tensor)
            elif uses_external_data(tensor):
                array = self._array(tensor)
                self._graph.initializer.append(onnx.numpy_helper.from_array(array, tensor.name))
            else:
                self._graph.initializer.append(tensor)
        self._runner = GraphRunner(
            {"" if o.domain == "ai.onnx" else o.domain: o.version for o in proto.opset_import},
            {(each.domain, each.name): each for each in proto.functions},
            _element_types(self._graph),
        )
        self.parameter_names = _distinct([_identifier(value.name) for value in self.inputs])
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        self.__signature__ = inspect.Signature(
            [inspect.Parameter(name, kind) for name in self.parameter_names]
        )

    def __call__(self, *args: torch.Tensor, **kwargs: torch.Tensor) -> Any:
        """Returns the result of onnxruntime or of onnx's evaluator: a tensor or a tuple of tensors.

        Raises:
            Error: stage `run`, if that fails.
        """
        call = self.__signature__.bind(*args, **kwargs)
        feeds = {
            value.name: to_numpy(call.arguments[name], value.code)
            for value, name in zip(self.inputs, self.parameter_names, strict=True)
        }
        results = tuple(to_torch(np.asarray(array)) for array in self.reference(feeds))
        return results[0] if len(results) == 1 else results

    def module(self) -> OnnxModule:
        """Returns the graph as a module, with no inputs fixed yet."""
        names = dict(zip((v.name for v in self.inputs), self.parameter_names, strict=True))
        return OnnxModule(self._graph, self._runner, names, self.weights)

    @property
    def is_quantized(self) -> bool:
        """Whether the graph has nodes that quantize tensors."""
        return any(node.op_type == "QuantizeLinear" for node in self._graph.node)

    def with_quantize_operators(self) -> OnnxModel:
        """Returns the model with `quantized_decomposed` operators where the file quantizes."""
        # Imported here, because it loads PyTorch's quantization.
        from importers.onnx.quantize_operators import LOWERINGS

        model = copy.copy(self)
        model._runner = replace(self._runner, replaced=LOWERINGS)
        return model

    @property
    def held_in_wider(self) -> tuple[str, ...]:
        """Names of inputs and outputs whose types PyTorch does not compute with."""
        values = (*self.inputs, *self.outputs)
        return tuple(value.name for value in values if value.code in HELD_IN_WIDER)

    @property
    def comparison_notes(self) -> tuple[str, ...]:
        """Notes for the user about the reference of a comparison."""
        refusal = self.reference.refusal
        if refusal is None:
            return ()
        return (f"compared with {self.reference.name}: onnxruntime rejects the model: {refusal}",)

    def _read(self, tensor: onnx.TensorProto) -> torch.Tensor:
        if not uses_external_data(tensor):
            return to_torch(onnx.numpy_helper.to_array(tensor))
        return to_torch(self._array(tensor))

    def _array(self, tensor: onnx.TensorProto) -> np.ndarray:
        info = ExternalDataInfo(tensor)
        file = (self._folder / info.location).resolve()
        if self._folder.resolve() not in file.parents or not file.is_file():
            raise Error(
                "source",
                f"the file {info.location} with the weights of {tensor.name} is missing",
                hint=f"put it beside the model, in {self._folder}",
            )
        if tensor.data_type in HELD_IN_WIDER:
            # One byte holds several elements.
            onnx.external_data_helper.load_external_data_for_tensor(tensor, str(self._folder))
            return onnx.numpy_helper.to_array(tensor)
        stored = onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type)
        try:
            # Copy-on-write, because PyTorch requires writable memory.
            if not np.prod(tensor.dims, dtype=np.int64):
                return np.empty(tuple(tensor.dims), stored)
            return np.memmap(file, stored, "c", info.offset or 0, tuple(tensor.dims))
        except ValueError as problem:
            raise Error(
                "source",
                f"the weights of {tensor.name} are incomplete: {info.location} is too short",
                hint="write the model and its external data again",
            ) from problem


def _is_weight(tensor: onnx.TensorProto) -> bool:
    """Returns True if an initializer is an argument of the program, False for a constant."""
    count = np.prod(tensor.dims, dtype=np.int64)
    return bool(count > (_SMALL if tensor.data_type in _INTEGERS else 1))


def _checked(proto: onnx.ModelProto, given: list[onnx.ValueInfoProto]) -> onnx.GraphProto:
    """Checks the model and returns its graph without initializers, with inferred types.

    The initializers may exceed the size limit of protobuf.

    Raises:
        Exception: from the package onnx, for an invalid graph.
    """
    slim = _without_initializers(proto)
    del slim.graph.input[:]
    slim.graph.input.extend(given)
    graph = onnx.GraphProto()
    graph.CopyFrom(slim.graph)
    for tensor in proto.graph.initializer:
        slim.graph.input.append(
            onnx.helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims)
        )
    onnx.checker.check_model(slim)
    inferred = onnx.shape_inference.infer_shapes(slim, data_prop=True)
    graph.value_info.extend(inferred.graph.value_info)
    return graph


def _element_types(graph: onnx.GraphProto) -> dict[str, int]:
    values = (*graph.value_info, *graph.input, *graph.output)
    types = {value.name: value.type.tensor_type.elem_type for value in values}
    return types | {tensor.name: tensor.data_type for tensor in graph.initializer}


def _without_initializers(proto: onnx.ModelProto) -> onnx.ModelProto:
    """Returns a copy of a model without its initializers."""
    slim = onnx.ModelProto()
    for field, value in proto.ListFields():
        if field.name != "graph":
            _set(slim, field, value)
    for field, value in proto.graph.ListFields():
        if field.name != "initializer":
            _set(slim.graph, field, value)
    return slim


def _set(message: Any, field: Any, value: Any) -> None:
    if field.is_repeated:
        getattr(message, field.name).extend(value)
    elif field.message_type is not None:
        getattr(message, field.name).CopyFrom(value)
    else:
        setattr(message, field.name, value)


def _value(info: onnx.ValueInfoProto, any_rank: bool = False) -> OnnxValue:
    kind = info.type.WhichOneof("value")
    if kind != "tensor_type":
        raise Error(
            "source",
            f"{info.name} is not a tensor but a {(kind or 'value without a type')}",
            hint="write the model with tensors as inputs and results",
        )
    tensor = info.type.tensor_type
    if not tensor.HasField("shape") and not any_rank:
        raise Error(
            "source",
            f"the number of dimensions of {info.name} is not known",
            hint="write the model with shapes; onnx.shape_inference may infer them",
        )
    sizes = tuple(
        dim.dim_value
        if dim.HasField("dim_value")
        else _identifier(dim.dim_param or f"{info.name}_{index}")
        for index, dim in enumerate(tensor.shape.dim)
    )
    code = tensor.elem_type
    return OnnxValue(info.name, sizes, dtype_of(code, info.name), code)


def _identifier(name: str) -> str:
    """Converts a name to a Python identifier, as torch.export requires."""
    name = re.sub(r"\W", "_", name)
    return f"_{name}" if name[:1].isdigit() else name


def _distinct(names: list[str]) -> tuple[str, ...]:
    """Returns the names, with numbers appended to duplicates."""
    found: list[str] = []
    for name in names:
        unique, number = name, 1
        while unique in found or unique == "self":
            unique, number = f"{name}_{number}", number + 1
        found.append(unique)
    return tuple(found)
