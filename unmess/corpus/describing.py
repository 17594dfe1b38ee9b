"""Describes how the tensors of a model are made, and gives the model weights that are made so."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from unmess.corpus import tensors

# The largest compressed elements, in bytes, that a description contains.
_LARGEST = 1 << 20
# Digits of the numbers in a description.
_DIGITS = 6
# Buffers that training computes from data. Other buffers are tables that belong to the network.
_LEARNED = ("running_mean", "running_var")


def set_weights(model: Any, name: str, seed: int) -> dict[str, dict[str, Any]]:
    """Replaces the weights of a model, in place, by weights made from a seed.

    Parameters keep the mean, deviation and range of their initialization. So do statistics of batch
    norms. Other buffers, and parameters that are not trained, keep their elements.

    Args:
        name: the model string.

    Returns:
        The description of each weight by its name in the state dict.
    """
    described = {}
    if not isinstance(model, torch.nn.Module):
        return described
    with torch.no_grad():
        for key, tensor, trained in _weights(model):
            found = describe(tensor, name, key, seed, exact=not trained)
            if found["made"]["kind"] == "unknown":
                continue
            described[key] = found
            if trained:
                tensor.copy_(as_torch(made(found), tensor.dtype))
    return described


def _weights(model: torch.nn.Module) -> Iterator[tuple[str, torch.Tensor, bool]]:
    for key, tensor in model.named_parameters():
        yield key, tensor, tensor.requires_grad and tensor.is_floating_point()
    for key, tensor in model.named_buffers():
        owner, _, last = key.rpartition(".")
        frozen = "BatchNorm" in type(model.get_submodule(owner)).__name__
        yield key, tensor, tensor.is_floating_point() and (last in _LEARNED or frozen)


def describe(
    tensor: torch.Tensor, model: str, name: str, seed: int, *, exact: bool
) -> dict[str, Any]:
    """Returns how a tensor is made: `dtype`, `shape`, `seed`, `made`, `data`.

    Args:
        exact: whether to keep the elements. If they are too many, the kind is `unknown`.
    """
    elements = as_numpy(tensor)
    dtype = dtype_name(tensor.dtype)
    found: dict[str, Any] = {
        "dtype": dtype,
        "shape": list(tensor.shape),
        "seed": tensors.seed_of(seed, model, name),
        "data": None,
    }
    found["made"] = _regular(elements, dtype)
    if found["made"] is None and not exact:
        found["made"] = _random(elements, dtype)
    if found["made"] is None:
        data = tensors.compressed(elements)
        if len(data) <= _LARGEST:
            found["made"], found["data"] = {"kind": "data"}, data
            if elements.dtype.kind in "iu" and dtype != tensors.BFLOAT16:
                found["made"] |= {"low": int(elements.min()), "high": int(elements.max())}
        else:
            found["made"] = {"kind": "unknown"}
    return found


def made(description: dict[str, Any]) -> np.ndarray:
    """Returns the tensor of a description."""
    keys = ("made", "shape", "dtype", "seed", "data")
    return tensors.make(*(description[key] for key in keys))


def _regular(elements: np.ndarray, dtype: str) -> dict[str, Any] | None:
    """Returns the description of a constant or counting tensor; None for others."""
    flat = elements.ravel()
    if not flat.size:
        return {"kind": "fill", "value": 0}
    first = tensors.widened(flat[:1])[0] if dtype == tensors.BFLOAT16 else flat[0]
    if (flat == flat[0]).all() and np.isfinite(first) and dtype[0] != "c":
        return {"kind": "fill", "value": first.item()}
    if dtype[0] in "iu":
        start, step = int(flat[0]), int(flat[1]) - int(flat[0])
        if np.array_equal(flat, (start + step * np.arange(flat.size)).astype(flat.dtype)):
            return {"kind": "arange", "start": start, "step": step}
    return None


def _random(elements: np.ndarray, dtype: str) -> dict[str, Any] | None:
    """Returns the description of similar random numbers; None if elements are not random."""
    if dtype[0] in "iu" and dtype != tensors.BFLOAT16:
        return {"kind": "integers", "low": int(elements.min()), "high": int(elements.max())}
    is_float = dtype == tensors.BFLOAT16 or elements.dtype.kind == "f"
    wide = tensors.widened(elements) if dtype == tensors.BFLOAT16 else elements
    # Whole numbers in a float tensor, such as a mask, are not random.
    if not is_float or not np.isfinite(wide).all() or (wide == np.rint(wide)).all():
        return None
    wide = wide.astype(np.float64)
    numbers = {"mean": wide.mean(), "std": wide.std(), "min": wide.min(), "max": wide.max()}
    rounded = {key: float(f"{value:.{_DIGITS}g}") for key, value in numbers.items()}
    return {"kind": "normal", **rounded}


def dtype_name(dtype: torch.dtype) -> str:
    """Returns NumPy's name of a dtype, and `bfloat16`."""
    return str(dtype).removeprefix("torch.")


def as_numpy(tensor: torch.Tensor) -> np.ndarray:
    """Returns the elements in C order; bfloat16 as uint16."""
    tensor = tensor.detach().resolve_conj().resolve_neg().contiguous()
    if tensor.dtype == torch.bfloat16:
        tensor = tensor.view(torch.int16)
        return tensor.numpy().view(np.uint16)
    return tensor.numpy()


def as_torch(elements: np.ndarray, dtype: torch.dtype) -> torch.Tensor:
    """Returns a tensor of these elements; the inverse of `as_numpy`."""
    elements = np.array(elements, order="C")
    if dtype == torch.bfloat16:
        return torch.from_numpy(elements.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(elements)
