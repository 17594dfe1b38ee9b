"""Function bodies of operators that ONNX or the model defines by other operators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import onnx
import torch

from importers.onnx.element_types import code_of
from importers.onnx.value import Value


def body_of_operator(
    node: onnx.NodeProto, values: Sequence[Value | None], opset: int
) -> onnx.FunctionProto | None:
    """Returns ONNX's own function body for an operator, with the node's attributes bound.

    Returns:
        None if ONNX does not define the operator by others.
    """
    try:
        schema = onnx.defs.get_schema(node.op_type, opset, node.domain)
    except onnx.defs.SchemaError:
        return None
    version = max((v for v in _versions(schema) if v <= opset), default=None)
    if version is None:
        return None
    if version in schema.context_dependent_function_opset_versions:
        kinds = [_kind(value) for value in values]
        text = schema.get_context_dependent_function_with_opset_version(
            version, node.SerializeToString(), kinds
        )
    else:
        text = schema.get_function_with_opset_version(version)
    if not text:
        return None
    body = onnx.FunctionProto.FromString(text)
    defaults = {
        name: attribute.default_value
        for name, attribute in schema.attributes.items()
        if attribute.default_value.name
    }
    return bound(body, node, defaults)


def bound(
    body: onnx.FunctionProto,
    node: onnx.NodeProto,
    defaults: Mapping[str, onnx.AttributeProto] | None = None,
) -> onnx.FunctionProto:
    """Replaces attribute references in a function body by the attributes of the calling node."""
    known = dict(defaults or {})
    known |= {attribute.name: attribute for attribute in body.attribute_proto}
    known |= {attribute.name: attribute for attribute in node.attribute}
    copy = onnx.FunctionProto()
    copy.CopyFrom(body)
    _bind(copy.node, known)
    return copy


def _versions(schema: onnx.defs.OpSchema) -> list[int]:
    return [
        *schema.function_opset_versions,
        *schema.context_dependent_function_opset_versions,
    ]


def _bind(nodes: Sequence[onnx.NodeProto], known: Mapping[str, onnx.AttributeProto]) -> None:
    for node in nodes:
        attributes = list(node.attribute)
        del node.attribute[:]
        for attribute in attributes:
            if attribute.ref_attr_name:
                # Omit attributes that neither the node nor the definition gives.
                if attribute.ref_attr_name in known:
                    given = node.attribute.add()
                    given.CopyFrom(known[attribute.ref_attr_name])
                    given.name = attribute.name
                continue
            node.attribute.append(attribute)
            if attribute.HasField("g"):
                _bind(node.attribute[-1].g.node, known)


def _kind(value: Value | None) -> bytes:
    """Returns the type of an input as a serialized `TypeProto`."""
    if value is None:
        return onnx.TypeProto().SerializeToString()
    if value.is_sizes:
        dtype, shape = torch.int64, value.data.shape
    else:
        dtype, shape = value.data.dtype, value.data.shape
    sizes = [size if isinstance(size, int) else None for size in shape]
    return onnx.helper.make_tensor_type_proto(code_of(dtype), sizes).SerializeToString()
