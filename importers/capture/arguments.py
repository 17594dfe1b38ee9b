"""Copies or refuses tensors of an example call that are shared."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from typing import Any

import torch
from torch.utils import _pytree as pytree

from unmess.core.errors.error import Error
from unmess.core.program.strides import cloned


def copy_shared_tensors(
    model: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Copies the tensors of an example call that occur twice or belong to the model.

    PyTorch's exporter identifies tensors by object identity. It would treat two arguments that are
    the same object as one, and an argument that is a parameter as that parameter. The program would
    then ignore the argument.
    """
    seen: set[int] = set()
    if isinstance(model, torch.nn.Module):
        seen.update(id(tensor) for tensor in (*model.parameters(), *model.buffers()))

    def own(tensor: torch.Tensor) -> torch.Tensor:
        if id(tensor) in seen:
            return cloned(tensor).requires_grad_(tensor.requires_grad)
        seen.add(id(tensor))
        return tensor

    return pytree.tree_map_only(torch.Tensor, own, (args, kwargs))


def refuse_written_aliases(values: Mapping[str, Any], written: Set[str]) -> None:
    """Raises an Error (`capture`) if an argument that the model writes shares memory with another.

    Args:
        values: the arguments of the example call by name.
        written: the names of those that the model writes.
    """
    blocks = {name: _block(value) for name, value in values.items() if _has_elements(value)}
    for name in written & blocks.keys():
        start, end = blocks[name]
        for other, (other_start, other_end) in blocks.items():
            if other != name and start < other_end and other_start < end:
                raise shared_memory(f"its argument {name}, which shares memory with {other}")


def shared_memory(what: str) -> Error:
    """Returns the Error for a model that writes memory which two of its inputs share."""
    return Error(
        "capture",
        f"the model writes to {what}; a program takes each input as a separate value",
        hint="clone one of the tensors before the call, or pass only one of them",
    )


def _has_elements(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.layout is torch.strided and value.numel() > 0


def _block(tensor: torch.Tensor) -> tuple[int, int]:
    """Returns the start and the end of the memory that a tensor's elements occupy."""
    steps = zip(tensor.shape, tensor.stride(), strict=True)
    last = sum((size - 1) * stride for size, stride in steps)
    return tensor.data_ptr(), tensor.data_ptr() + (last + 1) * tensor.itemsize
