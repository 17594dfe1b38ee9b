"""A program's signatures as JSON, which `unmess.bundle.signature` reads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from torch.fx.immutable_collections import immutable_list
from torch.utils import _pytree as pytree

from unmess.bundle.elements import SUPPORTED
from unmess.core.error import Error
from unmess.core.module import Module
from unmess.core.signature import (
    Constant,
    Dim,
    ScalarSpec,
    Signature,
    TensorSpec,
)

_PLAIN = (bool, int, float, str, type(None))


def write_signature(path: Path, module: Module) -> None:
    """Writes the signatures of a module's entry points.

    Raises:
        Error: stage `usage`; something in a call has no form without PyTorch.
    """
    entries = {name: _entry(signature) for name, signature in module.entries.items()}
    path.write_text(json.dumps({"entries": entries}, indent=1) + "\n")


def _entry(signature: Signature) -> dict[str, Any]:
    if signature.restore is not None:
        raise _without_form(
            "a result that is put into its own form after the call, as of detection models"
        )
    names = signature.parameter_names
    return {
        "parameters": None if names is None else list(names),
        "call": _tree(signature.in_spec),
        "inputs": [_slot("input", leaf.name, leaf.spec) for leaf in signature.inputs],
        "arguments": [
            _slot(argument.kind, argument.name, argument.spec)
            for argument in signature.arguments
            if argument.kind != "weight"
        ],
        "results": [_slot(result.kind, result.name, result.spec) for result in signature.results],
        "result": _tree(signature.out_spec),
        "outputs": [
            {"constant": _plain("the result", leaf.value)} if isinstance(leaf, Constant) else leaf
            for leaf in signature.outputs
        ],
        "guards": [str(guard) for guard in signature.guards],
    }


def _slot(kind: str, name: str, spec: TensorSpec | ScalarSpec | Constant) -> dict[str, Any]:
    return {"kind": kind, "name": name, **_spec(name, spec)}


def _spec(name: str, spec: TensorSpec | ScalarSpec | Constant) -> dict[str, Any]:
    if isinstance(spec, Constant):
        return {"constant": _plain(name, spec.value)}
    if isinstance(spec, ScalarSpec):
        return {"number": spec.type.__name__}
    dtype = str(spec.dtype).removeprefix("torch.")
    if dtype not in SUPPORTED:
        raise _without_form(f"{name}, of dtype {dtype},")
    return {"dtype": dtype, "shape": [_size(size) for size in spec.shape]}


def _size(size: int | Dim) -> int | dict[str, Any]:
    if isinstance(size, Dim):
        return {"size": size.expression, "min": size.min, "max": size.max}
    return size


def _plain(name: str, value: Any) -> Any:
    if type(value) not in _PLAIN:
        raise _without_form(f"{name}, fixed to {value!r},")
    return value


def _tree(spec: pytree.TreeSpec) -> dict[str, Any] | None:
    """The containers; those of other libraries become dicts of what they name their parts."""
    if spec.is_leaf():
        return None
    children = [_tree(child) for child in spec.children()]
    if spec.type in (list, immutable_list):
        return {"list": children}
    if spec.type in (tuple, torch.Size):
        return {"tuple": children}
    keys = _keys(spec)
    if keys and all(isinstance(key, pytree.SequenceKey) for key in keys):
        return {"tuple": children}
    names = [key.name if isinstance(key, pytree.GetAttrKey) else key.key for key in keys]
    parts = [[_plain("a key", name), child] for name, child in zip(names, children, strict=True)]
    if pytree.is_namedtuple_class(spec.context) or pytree.is_structseq_class(spec.type):
        kind = spec.context if isinstance(spec.context, type) else spec.type
        return {"namedtuple": [kind.__name__, parts]}
    return {"dict": parts}


def _keys(spec: pytree.TreeSpec) -> list[Any]:
    """What the parts of a container are called."""
    node = pytree.SUPPORTED_NODES[spec.type]
    try:
        value = node.unflatten_fn([object() for _ in spec.children()], spec.context)
        return [key for key, _ in node.flatten_with_keys_fn(value)[0]]
    except Exception as problem:
        raise _without_form(f"a {spec.type.__name__} in the call or the result") from problem


def _without_form(what: str) -> Error:
    return Error(
        "usage",
        f"{what} has no form without PyTorch",
        hint="capture a function around the model that takes and returns tensors and numbers",
    )
