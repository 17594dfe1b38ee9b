"""Detects attributes that a model changes when it runs: Python values, tensors and buffers.

Also detects tensors of a tracer that end up in a program as weights.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch._subclasses.functional_tensor import FunctionalTensor
from torch.utils import _pytree as pytree

from importers.capture.tensor_attributes import (
    holds_tensors,
    is_same,
    own_buffers,
    tensor_attributes,
)
from unmess.core.errors.user_source import node_line

# Containers with more elements are compared by identity.
_FEW = 64
_OWN = frozenset(vars(torch.nn.Module()))


@dataclass
class Changed:
    """Attributes that calls of a module changed, by names such as `layers.0.calls`.

    Attributes:
        values: names of numbers, strings and small containers. A program cannot update them.
        tensors: attributes that hold other tensors than before, with their values after a call.
        created: names of those that held no tensors before.
        buffers: registered buffers that hold another tensor than before, with that tensor.
        written: names of attributes whose tensors were written in place.
    """

    values: set[str] = field(default_factory=set)
    tensors: dict[str, Any] = field(default_factory=dict)
    created: set[str] = field(default_factory=set)
    buffers: dict[str, torch.Tensor] = field(default_factory=dict)
    written: set[str] = field(default_factory=set)


@contextlib.contextmanager
def watching(module: torch.nn.Module) -> Iterator[Changed]:
    """Collects the attributes that calls of `module` change inside the `with` block.

    A forward hook reads the attributes, because torch.export restores them after the call. At the
    end of the block, attributes with tensors are restored.
    """
    changed = Changed()
    if isinstance(module, torch.jit.ScriptModule):
        yield changed
        return
    values, tensors = _attributes(module), tensor_attributes(module)
    ignored = _views_of_parameters(module)
    before = [(part, dict(vars(part))) for part in module.modules()]
    # Tracing writes these tensors in place if the model does.
    contents = [
        (name, tensor, tensor.detach().clone(), tensor._version)
        for name, value in tensors.items()
        for tensor in pytree.tree_leaves(value)
        if not has_no_values(tensor)
    ]

    # A tracer replaces the buffers before the call.
    buffers: dict[str, torch.Tensor] = {}

    def begin(module: torch.nn.Module, _args: Any) -> None:
        if not torch.compiler.is_dynamo_compiling():
            buffers.update(own_buffers(module))

    def look(module: torch.nn.Module, _args: Any, _result: Any) -> None:
        # TorchDynamo traces this hook too, and would make it part of the program.
        if torch.compiler.is_dynamo_compiling():
            return
        now = tensor_attributes(module)
        changed.tensors.update(
            {
                name: value
                for name, value in now.items()
                if name not in ignored
                and (name not in tensors or not is_same(tensors[name], value))
            }
        )
        changed.created.update(name for name in changed.tensors if name not in tensors)
        changed.buffers.update(
            {
                name: buffer
                for name, buffer in own_buffers(module).items()
                if name in buffers and buffers[name] is not buffer
            }
        )
        after = _attributes(module)
        changed.values.update(
            name
            for name in after
            if after[name] != values.get(name)
            and name not in now
            and name not in tensors
            and name not in ignored
        )

    handles = [module.register_forward_pre_hook(begin), module.register_forward_hook(look)]
    try:
        yield changed
    finally:
        for handle in handles:
            handle.remove()
        for part, attributes in before:
            _restore_tensors(part, attributes)
        _restore_containers(module, tensors)
        for name, tensor, content, version in contents:
            if tensor._version != version:
                changed.written.add(name)
                with torch.no_grad():
                    tensor.copy_(content)


def _views_of_parameters(module: torch.nn.Module) -> set[str]:
    """Returns the attributes in which PyTorch's recurrent layers list their own parameters.

    A tracer that replaces a parameter also replaces it there, but the model does not change it.
    """
    return {
        f"{path}.{name}" if path else name
        for path, part in module.named_modules()
        if isinstance(part, torch.nn.RNNBase)
        for name in ("_flat_weights", "_flat_weight_refs")
    }


def _restore_tensors(part: torch.nn.Module, before: dict[str, Any]) -> None:
    """Restores attributes with tensors, so that no tracer's tensor stays in the user's module."""
    for name, value in list(vars(part).items()):
        if name in _OWN or before.get(name) is value or not holds_tensors(value):
            continue
        if name in before:
            vars(part)[name] = before[name]
        else:
            del vars(part)[name]


def _restore_containers(module: torch.nn.Module, before: dict[str, Any]) -> None:
    for path, value in before.items():
        parent, _, name = path.rpartition(".")
        now = vars(module.get_submodule(parent)).get(name)
        if isinstance(value, list) and isinstance(now, list):
            now[:] = value
        elif isinstance(value, dict) and isinstance(now, dict):
            now.clear()
            now.update(value)


def _attributes(module: torch.nn.Module) -> dict[str, Any]:
    # A shared module has several paths, and a tracer may change their order.
    return {
        f"{path}.{name}" if path else name: _value(value)
        for path, part in module.named_modules(remove_duplicate=False)
        for name, value in vars(part).items()
        if name not in _OWN and not isinstance(value, torch.Tensor)
    }


def _value(value: Any) -> Any:
    """Returns a key that is equal for equal plain values.

    Symbolic numbers compare by identity, because comparing their values would add guards.
    """
    if isinstance(value, (bool, int, float, str, type(None))):
        return type(value), repr(value)
    # Call the container's own methods: a class derived from it may override them to raise.
    for kind in (list, tuple, set):
        if isinstance(value, kind) and kind.__len__(value) <= _FEW:
            return type(value), tuple(map(_value, kind.__iter__(value)))
    if isinstance(value, dict) and dict.__len__(value) <= _FEW:
        return type(value), tuple((_value(key), _value(item)) for key, item in dict.items(value))
    return id(value)


class LostTensor(Exception):
    """PyTorch's tracer lost a tensor; `where` is the user's line that reads it."""

    def __init__(self, message: str, where: str | None):
        super().__init__(message)
        self.where = where


def refuse_lost_tensors(exported: torch.export.ExportedProgram) -> None:
    """Raises LostTensor if a weight or constant of the program is a tensor of a tracer.

    This happens if a model computes a tensor where the tracer records nothing: in another thread,
    or by an access that is not an operator. Such a tensor has no values. PyTorch's passes recurse
    on it in native code until the stack overflows, so no pass may run on it.
    """
    for name, tensor in (*exported.state_dict.items(), *exported.constants.items()):
        if isinstance(tensor, torch.Tensor) and has_no_values(tensor):
            raise LostTensor(
                "PyTorch's tracer lost a tensor that the model computes in another thread or "
                "reads without an operator",
                _reader(exported, name),
            )


def has_no_values(tensor: torch.Tensor) -> bool:
    """Returns True for a tensor of a tracer or of a transform such as `torch.func.vmap`."""
    return (
        isinstance(tensor, (FakeTensor, FunctionalTensor))
        or torch._is_functional_tensor(tensor)
        or torch._C._functorch.is_functorch_wrapped_tensor(tensor)
    )


def _reader(exported: torch.export.ExportedProgram, name: str) -> str | None:
    """Returns the user's line that first reads a weight or constant, or None."""
    placeholders = {
        spec.arg.name for spec in exported.graph_signature.input_specs if spec.target == name
    }
    for node in exported.graph.nodes:
        if node.op == "placeholder" and node.name in placeholders:
            for user in node.users:
                if (line := node_line(user)) is not None:
                    return line
    return None
