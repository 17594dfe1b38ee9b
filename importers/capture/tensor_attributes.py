"""Captures assignments to attributes with tensors: plain ones, and registered buffers.

A hand-written recurrent network assigns `self.hidden` in `forward`. PyTorch's tracers treat the
tensor of a plain attribute as a constant and drop the assignment. They also drop it for a buffer of
a submodule, and return the new value where the model returns the old one. While a module is
captured under `carried`, the attribute is a buffer: each call starts with a copy of the buffer and
writes the buffer at its end.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any

import torch
from torch.utils import _pytree as pytree

from unmess.core.errors.error import Error

# A container with more elements is treated as data, not as state.
_FEW = 64
_OWN = frozenset(vars(torch.nn.Module()))


def tensor_attributes(module: torch.nn.Module) -> dict[str, Any]:
    """Returns the plain attributes that are tensors or small containers of tensors, by path.

    Buffers and parameters are not included. Containers (tuples, lists, dicts) are copied.
    """
    return {
        f"{path}.{name}" if path else name: pytree.tree_map(lambda tensor: tensor, value)
        for path, part in module.named_modules()
        for name, value in vars(part).items()
        if name not in _OWN and holds_tensors(value)
    }


def own_buffers(module: torch.nn.Module) -> dict[str, torch.Tensor]:
    """Returns the registered buffers by path. Those of a shared submodule have one path."""
    return {
        f"{path}.{name}" if path else name: buffer
        for path, part in module.named_modules()
        for name, buffer in part._buffers.items()
        if buffer is not None
    }


def named_attributes(module: torch.nn.Module) -> dict[str, torch.Tensor]:
    """Returns the tensors of `tensor_attributes`, named as the buffers that `carried` creates."""
    return {
        name: leaf
        for path, value in tensor_attributes(module).items()
        for name, leaf in zip(_buffer_names(path, value), pytree.tree_leaves(value), strict=True)
    }


def _buffer_names(path: str, value: Any) -> list[str]:
    if isinstance(value, torch.Tensor):
        return [path]
    return [f"{path}_{index}" for index in range(len(pytree.tree_leaves(value)))]


def holds_tensors(value: Any) -> bool:
    """Returns True for a tensor, or for a small container of tensors only."""
    if isinstance(value, torch.Tensor):
        return True
    # A class that PyTorch does not know is a leaf, also one that is derived from a container.
    if pytree.tree_is_leaf(value) or not isinstance(value, (tuple, list, dict)):
        return False
    if not 0 < len(value) <= _FEW:
        return False
    return all(isinstance(leaf, torch.Tensor) for leaf in pytree.tree_leaves(value))


def is_same(before: Any, after: Any) -> bool:
    """Returns True if an attribute holds the same tensor objects as before."""
    old, new = pytree.tree_leaves(before), pytree.tree_leaves(after)
    return len(old) == len(new) and all(a is b for a, b in zip(old, new, strict=True))


def is_alike(before: Any, after: Any) -> bool:
    """Returns True if two values have the same containers, shapes and dtypes."""
    old, old_spec = pytree.tree_flatten(before)
    new, new_spec = pytree.tree_flatten(after)
    return old_spec == new_spec and all(
        isinstance(b, torch.Tensor) and (a.shape, a.dtype) == (b.shape, b.dtype)
        for a, b in zip(old, new, strict=True)
    )


class _Attribute:
    """An attribute of a submodule, stored in buffers while the module is captured.

    It may be a buffer already.
    """

    def __init__(self, module: torch.nn.Module, path: str):
        parent, _, self.name = path.rpartition(".")
        self.path = path
        self.owner = module.get_submodule(parent)
        self.is_registered = self.name in self.owner._buffers
        attributes = self.owner._buffers if self.is_registered else vars(self.owner)
        self.value = attributes[self.name]
        leaves, self.spec = pytree.tree_flatten(self.value)
        self.is_tensor = isinstance(self.value, torch.Tensor)
        names = _buffer_names(self.name, self.value)
        # Copy, because the tensor may also be an argument of the last call or another attribute.
        tensors = (leaf.detach().clone() for leaf in leaves)
        self.initial = dict(zip(names, tensors, strict=True))
        self._buffers: dict[str, torch.Tensor] = {}

    def install(self) -> None:
        """Replaces a plain attribute by buffers."""
        if self.is_registered:
            return
        del vars(self.owner)[self.name]
        for name, tensor in self.initial.items():
            self.owner.register_buffer(name, tensor, persistent=False)

    def remove(self) -> None:
        """Restores the attribute, and removes the buffers that took its place."""
        if self.is_registered:
            self.owner._buffers[self.name] = self.value
            return
        for name in self.initial:
            self.owner._buffers.pop(name, None)
            self.owner._non_persistent_buffers_set.discard(name)
        vars(self.owner)[self.name] = self.value

    def begin(self) -> None:
        """Sets the attribute to a copy of its buffers, at the start of a call."""
        self._buffers = {name: self.owner._buffers[name] for name in self.initial}
        now = [tensor.clone() for tensor in self._buffers.values()]
        if self.is_tensor:
            self.owner._buffers[self.name] = now[0]
        else:
            vars(self.owner)[self.name] = pytree.tree_unflatten(now, self.spec)

    def end(self) -> None:
        """Writes the new value of the attribute to the buffers, at the end of a call.

        Raises:
            Error: stage `capture`, if the shape, dtype or container differs.
        """
        if self.is_tensor:
            now = self.owner._buffers[self.name]
        else:
            now = vars(self.owner).pop(self.name, None)
        self.owner._buffers.update(self._buffers)
        if not is_alike(self.value, now):
            raise changes_its_form(self.path, self.value, now)
        for buffer, leaf in zip(self._buffers.values(), pytree.tree_leaves(now), strict=True):
            buffer.copy_(leaf.detach())


def changes_its_form(path: str, before: Any, after: Any) -> Error:
    """Returns the error for an attribute whose shapes, dtypes or containers change in a call."""
    return Error(
        "capture",
        f"a call changes the shape or dtype of the state in {path}, from {_described(before)} to "
        f"{_described(after)}",
        hint="start with a tensor of the final shape and dtype, or call the model once before the "
        "capture",
    )


def _described(value: Any) -> str:
    leaves = pytree.tree_leaves(value)
    forms = [
        f"{'x'.join(map(str, leaf.shape)) or 'scalar'} {str(leaf.dtype).removeprefix('torch.')}"
        if isinstance(leaf, torch.Tensor)
        else type(leaf).__name__
        for leaf in leaves
    ]
    return ", ".join(forms) or type(value).__name__


@contextlib.contextmanager
def carried(module: torch.nn.Module, paths: Iterable[str]) -> Iterator[None]:
    """Makes the attributes at `paths` buffers that calls read and write, in the `with` block."""
    attributes = [_Attribute(module, path) for path in sorted(paths)]
    if not attributes:
        yield
        return

    def begin(_module: torch.nn.Module, _args: Any) -> None:
        for attribute in attributes:
            attribute.begin()

    def end(_module: torch.nn.Module, _args: Any, _result: Any) -> None:
        for attribute in attributes:
            attribute.end()

    handles = [module.register_forward_pre_hook(begin), module.register_forward_hook(end)]
    for attribute in attributes:
        attribute.install()
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()
        for attribute in attributes:
            attribute.remove()
