"""Adapts modules whose entry point is another method than `forward`. Weights keep their names."""

from __future__ import annotations

import copy
import inspect
import types
from collections.abc import Callable
from typing import Any

import torch


def is_method_of_module(model: Any) -> bool:
    """Returns True if `model` is a bound method of an `nn.Module`."""
    return inspect.ismethod(model) and isinstance(model.__self__, torch.nn.Module)


def method_as_module(method: Callable[..., Any]) -> torch.nn.Module:
    """Returns a module whose `forward` is the method, with the owner's tensors and submodules.

    If the method were captured as a plain function, `torch.export` would see the weights as
    constants without names.
    """
    owner = method.__self__
    # A shallow copy shares parameters, buffers and submodules with the owner.
    module = copy.copy(owner)
    module.forward = types.MethodType(method.__func__, module)
    return module


def has_only_call(model: Any) -> bool:
    """Returns True if `model` is a module that overrides `__call__` and has no `forward`."""
    return (
        isinstance(model, torch.nn.Module)
        and not isinstance(model, torch.jit.ScriptModule)
        and type(model).forward is torch.nn.Module.forward
        and "forward" not in vars(model)
        and type(model).__call__ is not torch.nn.Module.__call__
    )


def call_as_forward(model: torch.nn.Module) -> torch.nn.Module:
    """Returns a shallow copy of `model` whose `forward` is the `__call__` of `model`."""
    kind = type(model)
    module = copy.copy(model)
    module.__class__ = type(
        kind.__name__,
        (kind,),
        {
            "forward": kind.__call__,
            "__call__": torch.nn.Module.__call__,
            "__module__": kind.__module__,
        },
    )
    return module
