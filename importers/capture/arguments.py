"""The tensors of an example call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils import _pytree as pytree

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
