"""Cuts one module out of a model, with the arguments of its first call."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils import _pytree as pytree

from importers.capture.methods import is_method_of_module, method_as_module
from unmess.core.errors.error import Error
from unmess.core.options.suggest import did_you_mean
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
    """Returns the outermost names first, and not more than `most`."""
    shown = sorted(names, key=lambda name: name.count("."))[:most]
    return ", ".join(shown) + (", …" if len(names) > most else "")


def _copied(tree: Any) -> Any:
    """Returns a copy of arguments: the model may write to them after the call."""
    return pytree.tree_map(_copied_leaf, tree)


def _copied_leaf(leaf: Any) -> Any:
    return cloned(leaf) if isinstance(leaf, torch.Tensor) else copy.deepcopy(leaf)
