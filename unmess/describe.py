"""Converts signatures and results to plain data for a JSON document."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

    from unmess.core.module.module import Module
    from unmess.core.program.program import Program
    from unmess.core.program.programs import Programs
    from unmess.core.signature.signature import Signature

# The number of elements of a result to show.
_FIRST = 5


def weights(program: Program | Programs, module: Module) -> list[dict[str, Any]]:
    """Returns the weights, tied ones once; `argument` is their position in the IR, or null."""
    positions = _positions(module.signature, ("weight", "state"))
    return [
        {
            "name": name,
            "dtype": _dtype(tensor.dtype),
            "shape": list(tensor.shape),
            "argument": positions.get(name),
        }
        for name, tensor in program.weights.items()
    ]


def signature(module: Module) -> dict[str, Any]:
    """Returns the inputs and results of the first entry point.

    The inputs are the leaves of the call; the results are in the IR's order.
    """
    return call(module.signature)


def entries(module: Module) -> dict[str, Any]:
    """Returns each entry function's signature and the positions of its weights by name."""
    return {
        name: {**call(one), "weights": _positions(one, ("weight", "state"))}
        for name, one in module.entries.items()
    }


def call(signature: Signature) -> dict[str, Any]:
    """Returns the inputs and results of a signature, as `signature` does for a Module."""
    positions = _positions(signature, ("input",))
    return {
        "inputs": [
            {"name": leaf.name, **_spec(leaf.spec), "argument": positions.get(leaf.name)}
            for leaf in signature.inputs
        ],
        "results": [
            {"name": result.name, "kind": result.kind, **_spec(result.spec)}
            for result in signature.results
        ],
    }


def _positions(signature: Signature, kinds: tuple[str, ...]) -> dict[str, int]:
    return {
        argument.name: index
        for index, argument in enumerate(signature.arguments)
        if argument.kind in kinds
    }


def _spec(spec: Any) -> dict[str, Any]:
    """Returns dtype and shape, dynamic dimensions as strings with their expressions.

    A leaf that capture fixed has a value, and null for dtype and shape.
    """
    from unmess.core.signature.signature import ScalarSpec, TensorSpec

    if isinstance(spec, TensorSpec):
        shape = [size if isinstance(size, int) else size.expression for size in spec.shape]
        return {"dtype": _dtype(spec.dtype), "shape": shape}
    if isinstance(spec, ScalarSpec):
        return {"dtype": spec.type.__name__, "shape": []}
    return {"dtype": None, "shape": None, "value": repr(spec.value)}


def result(tree: Any, paths: Sequence[str] | None = None) -> list[dict[str, Any]]:
    """Describes each leaf of a result.

    `path` is the leaf's place in the result; `values` are the first elements. `min`, `max` and
    `mean` are over the finite elements, null if there are none; `nonfinite` counts the others.
    Complex numbers are described by their magnitude.

    Args:
        paths: the leaves' paths, if the containers of `tree` are not the model's own.
    """
    from torch.utils import _pytree as pytree

    from unmess.core.signature.paths import leaves_with_path

    if paths is not None:
        leaves = pytree.tree_leaves(tree)
        return [{"path": p, **_leaf(leaf)} for p, leaf in zip(paths, leaves, strict=True)]
    return [
        {"path": f"result{pytree.keystr(path)}", **_leaf(leaf)}
        for path, leaf in leaves_with_path(tree)
    ]


def arrays(paths: Sequence[str], leaves: Sequence[Any]) -> list[dict[str, Any]]:
    """Describes NumPy arrays like `result`, without PyTorch.

    Args:
        paths: the leaves' paths, in order.
    """
    return [{"path": path, **_array(leaf)} for path, leaf in zip(paths, leaves, strict=True)]


def _array(value: Any) -> dict[str, Any]:
    import numpy as np

    if not isinstance(value, np.ndarray):
        return _other(value)
    numbers = np.abs(value) if np.iscomplexobj(value) else value
    # NumPy does not support arithmetic on every dtype that arrays may have.
    doubles = numbers.astype(np.float64)
    finite = doubles[np.isfinite(doubles)]
    some = finite.size > 0
    return {
        "dtype": str(value.dtype),
        "shape": list(value.shape),
        "values": numbers.reshape(-1)[:_FIRST].tolist(),
        "min": float(finite.min()) if some else None,
        "max": float(finite.max()) if some else None,
        "mean": float(finite.mean()) if some else None,
        "nonfinite": value.size - finite.size,
    }


def _other(value: Any) -> dict[str, Any]:
    """Describes a leaf that is not a tensor."""
    known = value is None or isinstance(value, (bool, int, float, str))
    shown = value if known else repr(value)
    return {"dtype": type(value).__name__, "shape": None, "values": [shown]}


def _leaf(value: Any) -> dict[str, Any]:
    import torch

    if not isinstance(value, torch.Tensor):
        return _other(value)
    numbers = value.detach()
    if numbers.is_complex():
        numbers = numbers.abs()
    first = numbers.reshape(-1)[:_FIRST]
    finite = numbers[torch.isfinite(numbers)].double()
    some = finite.numel() > 0
    return {
        "dtype": _dtype(value.dtype),
        "shape": list(value.shape),
        "values": first.tolist(),
        "min": float(finite.min()) if some else None,
        "max": float(finite.max()) if some else None,
        "mean": float(finite.mean()) if some else None,
        "nonfinite": value.numel() - finite.numel(),
    }


def _dtype(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
