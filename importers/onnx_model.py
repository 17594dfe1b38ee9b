"""An ONNX model: what goes in and out, its weights by name, and its own result for comparison."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from onnx.external_data_helper import ExternalDataInfo, uses_external_data

from unmess.core.error import Error

# Initializers up to this many elements stay in the graph: lowerings look into shapes, axes, scales.
_SMALL = 64
# NumPy types of the package ml_dtypes, which PyTorch does not read: by the integers of their width.
_AS_INTEGERS = {onnx.TensorProto.BFLOAT16: (torch.bfloat16, np.int16)}


@dataclass(frozen=True)
class OnnxValue:
    """An input or result: a size is a name, where the file gives one, or None for unknown."""

    name: str
    shape: tuple[int | str, ...]
    dtype: torch.dtype


class OnnxModel:
    """An ONNX model, callable with tensors: the result is that of onnx's reference evaluator.

    Attributes:
        graph_proto: the model with its large initializers as further inputs, types inferred.
        inputs, outputs: in the file's order.
        weights: the large initializers by name; external data is mapped, not read.

    Raises:
        Error: stage `source`, for inputs that are no tensors and for missing external data; what
            the package onnx raises, for a graph that is not valid.
    """

    def __init__(self, proto: onnx.ModelProto, folder: Path):
        self._folder = folder
        self._proto = proto
        self._evaluator: Any = None
        initialized = {tensor.name for tensor in proto.graph.initializer}
        given = [value for value in proto.graph.input if value.name not in initialized]
        self.inputs = tuple(map(_value, given))
        self.weights: dict[str, torch.Tensor] = {}
        self.graph_proto = onnx.ModelProto()
        self.graph_proto.CopyFrom(_without_initializers(proto))
        graph = self.graph_proto.graph
        del graph.input[:]
        graph.input.extend(given)
        for tensor in proto.graph.initializer:
            if uses_external_data(tensor) or np.prod(tensor.dims, dtype=np.int64) > _SMALL:
                self.weights[tensor.name] = self._read(tensor)
                graph.input.append(
                    onnx.helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims)
                )
            else:
                graph.initializer.append(tensor)
        onnx.checker.check_model(self.graph_proto)
        self.graph_proto = onnx.shape_inference.infer_shapes(self.graph_proto, data_prop=True)
        self.outputs = tuple(map(_value, self.graph_proto.graph.output))
        self.parameter_names = tuple(_identifier(value.name) for value in self.inputs)
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        self.__signature__ = inspect.Signature(
            [inspect.Parameter(name, kind) for name in self.parameter_names]
        )

    def __call__(self, *args: torch.Tensor, **kwargs: torch.Tensor) -> Any:
        """The result of onnx's reference evaluator: a tensor, or a tuple of several."""
        from onnx.reference import ReferenceEvaluator

        if self._evaluator is None:
            whole = onnx.ModelProto()
            whole.CopyFrom(self._proto)
            onnx.load_external_data_for_model(whole, str(self._folder))
            self._evaluator = ReferenceEvaluator(whole)
        call = self.__signature__.bind(*args, **kwargs)
        feeds = {
            value.name: _to_numpy(call.arguments[name])
            for value, name in zip(self.inputs, self.parameter_names, strict=True)
        }
        results = tuple(_to_torch(np.asarray(r)) for r in self._evaluator.run(None, feeds))
        return results[0] if len(results) == 1 else results

    def whole_proto(self) -> onnx.ModelProto:
        """`graph_proto` with the weights as initializers again."""
        whole = onnx.ModelProto()
        whole.CopyFrom(self.graph_proto)
        inputs = [value for value in whole.graph.input if value.name not in self.weights]
        del whole.graph.input[:]
        whole.graph.input.extend(inputs)
        for name, tensor in self.weights.items():
            whole.graph.initializer.append(onnx.numpy_helper.from_array(_to_numpy(tensor), name))
        return whole

    def _read(self, tensor: onnx.TensorProto) -> torch.Tensor:
        if not uses_external_data(tensor):
            return _to_torch(onnx.numpy_helper.to_array(tensor))
        info = ExternalDataInfo(tensor)
        file = (self._folder / info.location).resolve()
        if self._folder.resolve() not in file.parents or not file.is_file():
            raise Error(
                "source",
                f"the weights of {tensor.name} are to be in {info.location}, which is not there",
                hint=f"put the file beside the model, in {self._folder}",
            )
        dtype, stored = _AS_INTEGERS.get(tensor.data_type, (None, None))
        stored = stored or onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type)
        try:
            # Copy-on-write: PyTorch wants memory that may be written.
            array = np.memmap(file, stored, "c", info.offset or 0, tuple(tensor.dims))
        except ValueError as problem:
            raise Error(
                "source",
                f"the weights of {tensor.name} are not whole: {info.location} is too short",
                hint="write the model and its external data again",
            ) from problem
        loaded = torch.from_numpy(array)
        return loaded if dtype is None else loaded.view(dtype)


def _without_initializers(proto: onnx.ModelProto) -> onnx.ModelProto:
    """A copy of everything but the initializers, which may be larger than a protobuf may be."""
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


def _value(info: onnx.ValueInfoProto) -> OnnxValue:
    kind = info.type.WhichOneof("value")
    if kind != "tensor_type":
        raise Error(
            "source",
            f"{info.name} is not a tensor but a {(kind or 'value without a type')}",
            hint="write the model with tensors as inputs and results",
        )
    tensor = info.type.tensor_type
    if not tensor.HasField("shape"):
        raise Error(
            "source",
            f"the number of dimensions of {info.name} is not known",
            hint="write the model with shapes, onnx.shape_inference may find them",
        )
    sizes = tuple(
        dim.dim_value
        if dim.HasField("dim_value")
        else _identifier(dim.dim_param or f"{info.name}_{index}")
        for index, dim in enumerate(tensor.shape.dim)
    )
    return OnnxValue(info.name, sizes, _dtype(tensor.elem_type, info.name))


def _dtype(code: int, name: str) -> torch.dtype:
    if code in _AS_INTEGERS:
        return _AS_INTEGERS[code][0]
    try:
        empty = np.empty(0, onnx.helper.tensor_dtype_to_np_dtype(code))
        return torch.from_numpy(empty).dtype
    except (KeyError, TypeError):
        raise Error(
            "source",
            f"{name} has elements of type {onnx.TensorProto.DataType.Name(code)}",
            hint="PyTorch has no such type",
        ) from None


def _identifier(name: str) -> str:
    """A name as Python and torch.export spell it."""
    name = re.sub(r"\W", "_", name)
    return f"_{name}" if name[:1].isdigit() else name


def _to_numpy(tensor: torch.Tensor) -> np.ndarray:
    tensor = tensor.detach()
    if tensor.dtype == torch.bfloat16:
        bfloat16 = onnx.helper.tensor_dtype_to_np_dtype(onnx.TensorProto.BFLOAT16)
        return tensor.view(torch.int16).numpy().view(bfloat16)
    return tensor.numpy()


def _to_torch(array: np.ndarray) -> torch.Tensor:
    if array.dtype.name == "bfloat16":
        return torch.from_numpy(array.view(np.int16).copy()).view(torch.bfloat16)
    return torch.from_numpy(np.array(array, copy=not array.flags.writeable))
