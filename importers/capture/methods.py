"""Methods of modules other than `forward`, captured with the module's own names for its weights."""

from __future__ import annotations

import copy
import inspect
import types
from collections.abc import Callable
from typing import Any

import torch


def is_method_of_module(model: Any) -> bool:
    """Whether `model` is a bound method of an `nn.Module`."""
    return inspect.ismethod(model) and isinstance(model.__self__, torch.nn.Module)


def method_as_module(method: Callable[..., Any]) -> torch.nn.Module:
    """A module whose `forward` is the method, and which has the owner's tensors and submodules.

    As a plain function the method would lose the weights' names: they would be constants to
    `torch.export`, found behind the method's `self`.
    """
    owner = method.__self__
    # Shallow: parameters, buffers and submodules are the owner's own.
    module = copy.copy(owner)
    module.forward = types.MethodType(method.__func__, module)
    return module
