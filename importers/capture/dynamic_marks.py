"""Keeps the marks of dynamic dimensions on a user's tensors as they are."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterator
from typing import Any

import torch
from torch.utils import _pytree as pytree

# The attributes that `torch._dynamo.mark_dynamic` and its relatives set.
_MARKS = ("_dynamo_", "_has_dynamo_dim_marking", "_specialize_on")


@contextlib.contextmanager
def marks_restored(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[None]:
    """Restores the marks on the tensors of a call afterwards.

    `torch.export` marks the declared dimensions of the example tensors. It removes all marks if it
    succeeds, those of the user too, and none if it fails: then the next capture of a tensor would
    treat its dimensions as declared.
    """
    tensors = [leaf for leaf in pytree.tree_leaves((args, kwargs)) if type(leaf) is torch.Tensor]
    before = [{name: copy.copy(value) for name, value in _marks(each).items()} for each in tensors]
    try:
        yield
    finally:
        for tensor, marks in zip(tensors, before, strict=True):
            for name in _marks(tensor):
                delattr(tensor, name)
            vars(tensor).update(marks)


def _marks(tensor: torch.Tensor) -> dict[str, Any]:
    return {name: value for name, value in vars(tensor).items() if name.startswith(_MARKS)}
