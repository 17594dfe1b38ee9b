"""Reads the signature of a function in the IR from its types and attributes."""

from __future__ import annotations

import re

import torch
from torch.utils import _pytree as pytree
from torch_mlir import ir

from unmess.core.errors.error import Error
from unmess.core.signature.signature import (
    Argument,
    Input,
    Result,
    ScalarSpec,
    TensorSpec,
)
from unmess.core.signature.size_expression import Dim
from unmess.core.signature.torch_signature import TorchSignature

_KINDS = ("input", "weight", "state")
_TENSOR = re.compile(
    r"(?:!torch\.vtensor<\[(?P<sizes>[\d,?]*)\],|tensor<(?P<dims>(?:[\d?]+x)*))"
    r"(?P<element>.+?)(?:, .*)?>$"
)
_ELEMENTS = {
    "i1": torch.bool,
    "i8": torch.int8,
    "i16": torch.int16,
    "i32": torch.int32,
    "i64": torch.int64,
    "ui8": torch.uint8,
    "ui16": torch.uint16,
    "ui32": torch.uint32,
    "ui64": torch.uint64,
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "f32": torch.float32,
    "f64": torch.float64,
    "f8E4M3FN": torch.float8_e4m3fn,
    "f8E5M2": torch.float8_e5m2,
    "complex<f32>": torch.complex64,
    "complex<f64>": torch.complex128,
}
_SCALARS = {
    "i64": int,
    "f64": float,
    "i1": bool,
    "!torch.int": int,
    "!torch.float": float,
    "!torch.bool": bool,
}


def signature_of_function(function: ir.OpView) -> TorchSignature:
    """Returns the signature of a function on tensors and numbers.

    Each argument is an input, unless an attribute marks it as a weight or state. The result is one
    value, or a tuple of several. Dynamic sizes are independent of each other.

    Raises:
        Error: stage `source`, for a type that models do not have.
    """
    kind = function.type
    attributes = function.arg_attrs if "arg_attrs" in function.attributes else ()
    arguments = []
    for index, type_ in enumerate(kind.inputs):
        own = ir.DictAttr(attributes[index]) if index < len(attributes) else {}
        named = [(each, f"unmess.{each}") for each in _KINDS if f"unmess.{each}" in own]
        role, name = "input", f"arg{index}"
        if named:
            role, name = named[0][0], ir.StringAttr(own[named[0][1]]).value
        arguments.append(Argument(role, name, _spec(type_, name)))
    results = [
        Result("output", f"result{index}", _spec(type_, f"result{index}"))
        for index, type_ in enumerate(kind.results)
    ]
    inputs = [Input(a.name, a.spec) for a in arguments if a.kind == "input"]
    leaves = tuple(range(len(results)))
    return TorchSignature(
        in_spec=pytree.tree_structure((tuple(0 for _ in inputs), {})),
        inputs=tuple(inputs),
        arguments=tuple(arguments),
        results=tuple(results),
        out_spec=pytree.tree_structure(leaves[0] if len(leaves) == 1 else leaves),
        outputs=leaves,
        parameter_names=tuple(leaf.name for leaf in inputs),
    )


def _spec(kind: ir.Type, name: str) -> TensorSpec | ScalarSpec:
    text = str(kind)
    if text in _SCALARS:
        return ScalarSpec(_SCALARS[text])
    match = _TENSOR.match(text)
    element = match and (match["element"] if match["element"] in _ELEMENTS else None)
    # The torch dialect writes signed integers as `si32`.
    if match and element is None and match["element"].startswith("si"):
        element = match["element"].removeprefix("s")
    if element not in _ELEMENTS:
        raise Error(
            "source",
            f"{name} has the type {text}, which models do not have",
            hint="write a function that takes and returns only ranked tensors and numbers",
        )
    sizes = match["dims"].split("x")[:-1] if match["sizes"] is None else match["sizes"].split(",")
    shape = tuple(
        Dim(f"{name}_{axis}", 0, None) if size == "?" else int(size)
        for axis, size in enumerate(sizes)
        if size
    )
    return TensorSpec(shape, _ELEMENTS[element])
