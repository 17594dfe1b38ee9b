"""A node of an ONNX graph, as the lowerings see it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import onnx
import torch

from importers.onnx.element_types import dtype_of
from importers.onnx.value import NeedsValue, Value, known_array, numbers_of
from unmess.core.errors.error import Error

_DEFAULT_DOMAINS = ("", "ai.onnx")


@dataclass(frozen=True)
class Node:
    """A node with the values of its inputs.

    Attributes:
        proto: the ONNX node.
        values: the values of its inputs; None for an omitted input.
        types: the inferred element types of values, by name.
        opset: the opset version of the operator's domain.
        call: runs a graph attribute with values for its inputs and for names from outside of it.
        outer: the values that graph attributes may use, by name.
    """

    proto: onnx.NodeProto
    values: tuple[Value | None, ...]
    types: dict[str, int]
    opset: int
    call: Callable[..., list[Value]]
    outer: Mapping[str, Value]
    attributes: dict[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        read = {each.name: onnx.helper.get_attribute_value(each) for each in self.proto.attribute}
        object.__setattr__(self, "attributes", read)

    @property
    def operator(self) -> str:
        """The name of the operator, with its domain unless that is ONNX's own."""
        domain = self.proto.domain
        return (
            self.proto.op_type if domain in _DEFAULT_DOMAINS else f"{domain}.{self.proto.op_type}"
        )

    def get(self, name: str, default: Any = None) -> Any:
        """Returns an attribute. Strings are `str`; tensors are PyTorch tensors."""
        value = self.attributes.get(name, default)
        if isinstance(value, bytes):
            return value.decode()
        if isinstance(value, onnx.TensorProto):
            return known_array(onnx.numpy_helper.to_array(value)).data
        if isinstance(value, list) and value and isinstance(value[0], bytes):
            return [each.decode() for each in value]
        return value

    def has(self, index: int) -> bool:
        """Returns True if the input at `index` is given."""
        return index < len(self.values) and self.values[index] is not None

    def wants(self, index: int) -> bool:
        """Returns True if the output at `index` is used."""
        return index < len(self.proto.output) and bool(self.proto.output[index])

    def known(self, index: int) -> torch.Tensor:
        """Returns an input as a tensor with readable elements.

        Raises:
            NeedsValue: the elements depend on inputs or weights of the graph.
        """
        value = self.values[index]
        if value.known:
            return value.data
        if value.is_sizes and all(isinstance(number, int) for number in value.data.flat):
            return known_array(value.data.astype("int64")).data
        raise NeedsValue(value.sources, f"input {index + 1} of {self.operator}")

    def integers(self, index: int, attribute: str | None = None) -> list[Any] | None:
        """Returns the integers of an input, or of an attribute in older opsets, or None.

        Some of them may be `SymInt`s.
        """
        if not self.has(index):
            found = self.get(attribute) if attribute else None
            return [found] if isinstance(found, int) else found
        value = self.values[index]
        if value.is_sizes:
            return list(value.data.flat)
        return numbers_of(self.known(index))

    def number(self, index: int, default: Any = None) -> Any:
        """Returns the number in an input of one element; `default` if the input is omitted."""
        if not self.has(index):
            return default
        value = self.values[index]
        return value.data.flat[0] if value.is_sizes else numbers_of(self.known(index))[0]

    def numbers(self, index: int) -> list[Any]:
        """Returns all numbers in a known input."""
        return numbers_of(self.known(index))

    def type_of(self, index: int) -> int:
        """Returns the ONNX element type of an input; 0 if it was not inferred."""
        return self.types.get(self.proto.input[index], 0)

    def from_outside(self, *graphs: onnx.GraphProto) -> dict[str, Value]:
        """Returns the outer values that graph attributes use, and the constants in them, by name.

        Sizes and literals are omitted.
        """
        names = set().union(*map(_used_names, graphs))
        found = {name: value for graph in graphs for name, value in _constants(graph).items()}
        found |= {name: self.outer[name] for name in sorted(names) if name in self.outer}
        return {n: value for n, value in found.items() if not (value.is_sizes or value.is_literal)}

    def dtype(self, attribute: str, default: int) -> torch.dtype:
        """Returns the dtype that an attribute names."""
        return dtype_of(self.get(attribute, default), self.operator)

    def refuse(self, what: str) -> Error:
        """Returns the error for a form of the operator that has no lowering."""
        return Error(
            "import",
            f"{self.operator} {what} (opset {self.opset}) has no lowering",
            hint="write the model without this operator, or with a simpler form of it",
        )


def _used_names(graph: onnx.GraphProto) -> set[str]:
    """Returns the names that a graph and its subgraphs use."""
    used = {value.name for value in graph.output}
    for node in graph.node:
        used.update(node.input)
        for attribute in node.attribute:
            if attribute.HasField("g"):
                used |= _used_names(attribute.g)
    return used


def _constants(graph: onnx.GraphProto) -> dict[str, Value]:
    """Returns the constant tensors in a graph and its subgraphs, by name."""
    tensors = {tensor.name: tensor for tensor in graph.initializer}
    found: dict[str, Value] = {}
    for node in graph.node:
        for attribute in node.attribute:
            if node.op_type == "Constant" and attribute.HasField("t"):
                tensors[node.output[0]] = attribute.t
            elif attribute.HasField("g"):
                found |= _constants(attribute.g)
    arrays = {name: onnx.numpy_helper.to_array(tensor) for name, tensor in tensors.items()}
    return found | {name: known_array(array) for name, array in arrays.items()}


def inside(outer: Mapping[str, Value], tensors: Mapping[str, torch.Tensor]) -> dict[str, Value]:
    """Replaces outer values by the tensors that a subgraph received for them as arguments."""
    return {
        name: replace(value, stand_in=tensors[name])
        if value.known
        else replace(value, data=tensors[name])
        for name, value in outer.items()
    }
