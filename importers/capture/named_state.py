"""The named state of a module: parameters, buffers, and the moments of its optimizers."""

from __future__ import annotations

import collections
import contextlib
import copy
import functools
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.utils import _pytree as pytree

from unmess.core.errors.error import Error

# Optimizers whose moments start at zero: a first step with zero moments equals one without any.
_START_AT_ZERO = (torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW, torch.optim.RMSprop)


def optimizers(module: torch.nn.Module) -> dict[str, torch.optim.Optimizer]:
    """Returns the optimizers among the attributes of a module, by name."""
    return {k: v for k, v in vars(module).items() if isinstance(v, torch.optim.Optimizer)}


def named_state(module: torch.nn.Module, remove_duplicate: bool = True) -> dict[str, torch.Tensor]:
    """Returns all tensors that a call may read and write: parameters, buffers and moments.

    Tied tensors occur once with `remove_duplicate`, else under each name. The moment `exp_avg` of
    the parameter `fc.weight` in the optimizer `self.optimizer` has the name
    `optimizer.exp_avg.fc.weight`.
    """
    state = dict(module.named_parameters(remove_duplicate=remove_duplicate))
    state |= module.named_buffers(remove_duplicate=remove_duplicate)
    for attribute, optimizer in optimizers(module).items():
        for name, moments in _moments(module, optimizer).items():
            for key, value in moments.items():
                if isinstance(value, torch.Tensor):
                    state[f"{attribute}.{key}.{name}"] = value
    return state


def _moments(
    module: torch.nn.Module, optimizer: torch.optim.Optimizer
) -> dict[str, dict[str, Any]]:
    names = {id(parameter): name for name, parameter in module.named_parameters()}
    moments = {}
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            if id(parameter) not in names:
                raise Error(
                    "capture",
                    f"the optimizer {type(optimizer).__name__} updates a tensor that is not a "
                    "parameter of the module that holds it",
                    hint="make the network that the optimizer trains an attribute of the module",
                )
            moments[names[id(parameter)]] = optimizer.state.get(parameter, {})
    return moments


def with_moments(module: torch.nn.Module, args: tuple, kwargs: dict) -> torch.nn.Module:
    """Returns the module, or a copy that shares its tensors, with initialized optimizer moments.

    An optimizer creates its moments in its first step. This function runs that step on a deep copy
    and creates the same moments with zeros.

    Raises:
        Error: stage `capture`, for an optimizer whose moments do not start at zero.
    """
    fresh = {
        attribute: optimizer
        for attribute, optimizer in optimizers(module).items()
        if not optimizer.state
    }
    if not fresh:
        return module
    trial, args, kwargs = copy.deepcopy((module, args, kwargs))
    with torch.enable_grad(), torch.random.fork_rng(devices=[]):
        trial(*args, **kwargs)
    prepared = copy.copy(module)
    for attribute, optimizer in fresh.items():
        made = _moments(trial, optimizers(trial)[attribute])
        if any(made.values()) and not _starts_at_zero(optimizer):
            raise Error(
                "capture",
                f"the state of the optimizer {type(optimizer).__name__} does not exist before its "
                "first step",
                hint="run one step before the capture",
            )
        mine = copy.copy(optimizer)
        mine.state = collections.defaultdict(dict)
        parameters = dict(module.named_parameters())
        for name, moments in made.items():
            mine.state[parameters[name]] = pytree.tree_map_only(
                torch.Tensor, torch.zeros_like, dict(moments)
            )
        vars(prepared)[attribute] = mine
    return prepared


def _starts_at_zero(optimizer: torch.optim.Optimizer) -> bool:
    dampened = any(group.get("dampening") for group in optimizer.param_groups)
    return type(optimizer) in _START_AT_ZERO and not dampened


@contextlib.contextmanager
def replaced(
    module: torch.nn.Module, tensors: dict[str, torch.Tensor]
) -> Iterator[Callable[[], dict[str, torch.Tensor]]]:
    """Replaces state by `tensors`, named as in `named_state`, inside the `with` block.

    Yields a function that returns the current state under each name: a call may tie tensors.
    """
    old = named_state(module)
    new = {id(old[name]): tensor for name, tensor in tensors.items()}
    with contextlib.ExitStack() as undo:
        for child in module.modules():
            for tensors_of in (child._parameters, child._buffers):
                undo.callback(tensors_of.update, dict(tensors_of))
                tensors_of.update({k: new.get(id(v), v) for k, v in tensors_of.items()})
        for optimizer in optimizers(module).values():
            state = optimizer.state
            undo.callback(setattr, optimizer, "state", state)
            optimizer.state = collections.defaultdict(
                dict,
                {
                    new[id(parameter)]: {k: new.get(id(v), v) for k, v in moments.items()}
                    for parameter, moments in state.items()
                },
            )
            for group in optimizer.param_groups:
                undo.callback(group.__setitem__, "params", group["params"])
                group["params"] = [new[id(parameter)] for parameter in group["params"]]
        yield functools.partial(named_state, module, remove_duplicate=False)


def register(module: torch.nn.Module, name: str, tensor: torch.Tensor) -> None:
    """Registers a tensor in `module` under its name in the state dict (`encoder.0.weight`).

    A parameter is registered as one, any other tensor as a buffer.
    """
    *path, last = name.split(".")
    for part in path:
        if part not in module._modules:
            module.add_module(part, torch.nn.Module())
        module = module._modules[part]
    if isinstance(tensor, torch.nn.Parameter):
        module.register_parameter(last, tensor)
    else:
        module.register_buffer(last, tensor)
