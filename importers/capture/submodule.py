"""Cuts one module or method out of a model, as a module whose weights keep their names."""

from __future__ import annotations

import copy
import inspect
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils import _pytree as pytree

from unmess.core.errors.error import Error
from unmess.core.options.names import did_you_mean
from unmess.core.program.eager import guarded
from unmess.core.program.note import Note
from unmess.core.program.strides import cloned


@dataclass(frozen=True)
class Submodule:
    """A module of a model, with an example call.

    Attributes:
        model: the module itself, not a copy.
        args, kwargs: copies of the arguments of its first call.
        notes: differences from the module's use in the model.
    """

    model: torch.nn.Module
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    notes: tuple[Note, ...] = ()


def submodule(model: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Submodule:
    """Returns the module `name` of a model, and records its first call.

    Runs a copy of the model in eager on `args` and `kwargs`. The model's state does not change.

    Args:
        model: an `nn.Module`, or a method of one. It may not be TorchScript.
        name: as in `model.named_modules()`, such as `layer1.0`.

    Raises:
        Error: stage `usage`, if the model has no such module, or if the call does not call it;
            `source`, if the model fails on the arguments.
    """
    root = _as_module(model, name)
    found = _find(root, name)
    calls: list[tuple[tuple[Any, ...], dict[str, Any]]] = []
    called: set[str] = set()
    copied = copy.deepcopy(root)
    # A module with several names has one call list.
    names = {module: path for path, module in copied.named_modules() if path}

    def record(module: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        called.add(names[module])
        if module is wanted:
            calls.append(_copied((args, kwargs)) if not calls else ((), {}))

    wanted = copied.get_submodule(name)
    hooks = [
        # The capture runs the module's own hooks again, so record the arguments before these hooks.
        module.register_forward_pre_hook(record, prepend=True, with_kwargs=True)
        for module in names
    ]
    try:
        guarded(copied)(*_copied(args), **_copied(kwargs))
    except Error as problem:
        raise Error(
            "source", problem.cause, where=problem.where, hint=problem.hint
        ) from problem.__cause__
    finally:
        for hook in hooks:
            hook.remove()
    if not calls:
        others = sorted(called)
        raise Error(
            "usage",
            f"the example call of the model does not call the module {name}",
            hint=did_you_mean(name, others, f"it calls {_listed(others)}"),
        )
    notes = ()
    if len(calls) > 1:
        text = f"{name} is called {len(calls)} times: its arguments are those of the first call"
        notes = (Note("only", text),)
    return Submodule(found, *calls[0], notes)


def _as_module(model: Any, name: str) -> torch.nn.Module:
    if is_method_of_module(model):
        return method_as_module(model)
    if isinstance(model, torch.nn.Module) and not isinstance(model, torch.jit.ScriptModule):
        return model
    raise Error(
        "usage",
        f"{name} can be cut out of an nn.Module only, not out of a {type(model).__name__}",
        hint="pass the nn.Module itself",
    )


def _find(root: torch.nn.Module, name: str) -> torch.nn.Module:
    names = [path for path, _ in root.named_modules(remove_duplicate=False) if path]
    if name in names:
        return root.get_submodule(name)
    raise Error(
        "usage",
        f"the model has no module {name!r}",
        hint=did_you_mean(
            name, names, f"its modules are {_listed(names)}" if names else "it has no modules"
        ),
    )


def _listed(names: list[str], most: int = 8) -> str:
    """Joins at most `most` names, the outermost ones first."""
    shown = sorted(names, key=lambda name: name.count("."))[:most]
    return ", ".join(shown) + (", …" if len(names) > most else "")


def _copied(tree: Any) -> Any:
    """Returns a copy of arguments: the model may write to them after the call."""
    return pytree.tree_map(_copied_leaf, tree)


def _copied_leaf(leaf: Any) -> Any:
    return cloned(leaf) if isinstance(leaf, torch.Tensor) else copy.deepcopy(leaf)


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
