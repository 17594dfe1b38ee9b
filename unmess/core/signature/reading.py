"""Reads signatures from JSON, without PyTorch. `unmess.core.signature.serialized` writes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from unmess.core.signature.signature import (
    Argument,
    Constant,
    Input,
    Result,
    ScalarSpec,
    TensorSpec,
)
from unmess.core.signature.size_expression import Dim, SizeExpression

_NUMBERS = {"bool": bool, "int": int, "float": float}


def fields_of(
    form: Mapping[str, Any],
    dtype_of: Callable[[str], Any],
    tensor_of: Callable[[list[Any], Any, list[int]], Any],
) -> dict[str, Any]:
    """Returns the fields of a signature, without its containers.

    Args:
        form: the signature as `form_of` writes it.
        dtype_of: returns a dtype by its name, which is PyTorch's.
        tensor_of: returns a tensor with given elements in row-major order, dtype and shape.
    """

    def spec_of(slot: Mapping[str, Any]) -> TensorSpec | ScalarSpec | Constant:
        if "fixed" in slot:
            fixed = slot["fixed"]
            return Constant(tensor_of(fixed["values"], dtype_of(fixed["dtype"]), fixed["shape"]))
        if "constant" in slot:
            return Constant(slot["constant"])
        if "number" in slot:
            return ScalarSpec(_NUMBERS[slot["number"]])
        shape = tuple(
            size if isinstance(size, int) else Dim(size["size"], size["min"], size["max"])
            for size in slot["shape"]
        )
        strides = slot.get("strides")
        return TensorSpec(
            shape, dtype_of(slot["dtype"]), None if strides is None else tuple(strides)
        )

    parameters = form["parameters"]
    return {
        "inputs": tuple(Input(slot["name"], spec_of(slot)) for slot in form["inputs"]),
        "arguments": tuple(
            Argument(slot["kind"], slot["name"], spec_of(slot)) for slot in form["arguments"]
        ),
        "results": tuple(
            Result(slot["kind"], slot["name"], spec_of(slot)) for slot in form["results"]
        ),
        "outputs": tuple(
            leaf if isinstance(leaf, int) else Constant(leaf["constant"])
            for leaf in form["outputs"]
        ),
        "parameter_names": None if parameters is None else tuple(parameters),
        "guards": tuple(map(SizeExpression, form["guards"])),
    }
