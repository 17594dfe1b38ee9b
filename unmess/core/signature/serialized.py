"""Converts signatures to JSON and back. `unmess.core.signature.reading` reads without PyTorch."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Container, Mapping
from typing import Any

import torch
from torch.fx.immutable_collections import immutable_list
from torch.utils import _pytree as pytree

from unmess.core.errors.error import Error
from unmess.core.signature.paths import keys_of
from unmess.core.signature.reading import fields_of
from unmess.core.signature.signature import Constant, ScalarSpec, TensorSpec
from unmess.core.signature.size_expression import Dim
from unmess.core.signature.torch_signature import TorchSignature
from unmess.core.signature.tree import unflatten

_PLAIN = (bool, int, float, str, type(None))
_ALL = ("input", "weight", "state")


def form_of(
    signature: TorchSignature, kinds: Container[str] = _ALL, dtypes: Container[str] | None = None
) -> dict[str, Any]:
    """Returns a signature as plain data.

    Args:
        kinds: kinds of arguments to list.
        dtypes: supported dtypes, by PyTorch's names; all by default.

    Raises:
        Error: stage `usage`; something in a call has no form without PyTorch.
    """
    names = signature.parameter_names
    form = {
        "parameters": None if names is None else list(names),
        "call": tree_of(signature.in_spec),
        "inputs": [_slot("input", leaf.name, leaf.spec) for leaf in signature.inputs],
        "arguments": [
            _slot(argument.kind, argument.name, argument.spec)
            for argument in signature.arguments
            if argument.kind in kinds
        ],
        "results": [_slot(result.kind, result.name, result.spec) for result in signature.results],
        "result": tree_of(signature.out_spec),
        "outputs": [
            {"constant": _plain("the result", leaf.value)} if isinstance(leaf, Constant) else leaf
            for leaf in signature.outputs
        ],
        "guards": [str(guard) for guard in signature.guards],
    }
    for slot in (*form["inputs"], *form["arguments"], *form["results"]):
        if dtypes is not None and slot.get("dtype") not in (None, *dtypes):
            raise without_form(f"{slot['name']}, of dtype {slot['dtype']},")
    return form


def signature_of(form: Mapping[str, Any]) -> TorchSignature:
    """Returns the signature that `form_of` described. Containers of other libraries are dicts."""
    return TorchSignature(
        in_spec=_spec_of_tree(form["call"]),
        out_spec=_spec_of_tree(form["result"]),
        **fields_of(
            form,
            functools.partial(getattr, torch),
            lambda values, dtype, shape: torch.tensor(values, dtype=dtype).reshape(shape),
        ),
    )


def _slot(kind: str, name: str, spec: TensorSpec | ScalarSpec | Constant) -> dict[str, Any]:
    return {"kind": kind, "name": name, **_spec(name, spec)}


def _spec(name: str, spec: TensorSpec | ScalarSpec | Constant) -> dict[str, Any]:
    if isinstance(spec, Constant) and isinstance(spec.value, torch.Tensor):
        return {"fixed": _elements(spec.value)}
    if isinstance(spec, Constant):
        return {"constant": _plain(name, spec.value)}
    if isinstance(spec, ScalarSpec):
        return {"number": spec.type.__name__}
    dtype = str(spec.dtype).removeprefix("torch.")
    form = {"dtype": dtype, "shape": [_size(size) for size in spec.shape]}
    return form if spec.strides is None else {**form, "strides": list(spec.strides)}


def _elements(tensor: torch.Tensor) -> dict[str, Any]:
    """Returns a small tensor as plain data."""
    return {
        "dtype": str(tensor.dtype).removeprefix("torch."),
        "shape": list(tensor.shape),
        "values": tensor.flatten().tolist(),
    }


def _size(size: int | Dim) -> int | dict[str, Any]:
    if isinstance(size, Dim):
        return {"size": size.expression, "min": size.min, "max": size.max}
    return size


def _plain(name: str, value: Any) -> Any:
    if type(value) not in _PLAIN:
        raise without_form(f"{name}, fixed to {value!r},")
    return value


def tree_of(spec: pytree.TreeSpec) -> dict[str, Any] | None:
    """Returns the containers as plain data.

    Those of other libraries become dicts by part name, or tuples if their parts have no names.

    Raises:
        Error: stage `usage`; a name is not plain data.
    """
    if spec.is_leaf():
        return None
    children = [tree_of(child) for child in spec.children()]
    if spec.type in (list, immutable_list):
        return {"list": children}
    if spec.type in (tuple, torch.Size):
        return {"tuple": children}
    keys = keys_of(spec)
    if keys and all(isinstance(key, pytree.SequenceKey) for key in keys):
        return {"tuple": children}
    names = [key.name if isinstance(key, pytree.GetAttrKey) else key.key for key in keys]
    parts = [[_plain("a key", name), child] for name, child in zip(names, children, strict=True)]
    if pytree.is_namedtuple_class(spec.context) or pytree.is_structseq_class(spec.type):
        kind = spec.context if isinstance(spec.context, type) else spec.type
        return {"namedtuple": [kind.__name__, parts]}
    return {"dict": parts}


def _spec_of_tree(tree: dict[str, Any] | None) -> pytree.TreeSpec:
    return pytree.tree_structure(unflatten(tree, itertools.repeat(0)))


def without_form(what: str) -> Error:
    """Returns the Error for values that only PyTorch can express."""
    return Error(
        "usage",
        f"{what} cannot be described without PyTorch",
        hint="capture a function around the model that takes and returns only tensors and numbers",
    )
