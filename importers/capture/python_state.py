"""Attributes in plain Python that a model changes when it runs, which no program can follow."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch

# Containers with more elements are told apart by their identity.
_FEW = 64
_OWN = frozenset(vars(torch.nn.Module()))


@contextlib.contextmanager
def watching(module: torch.nn.Module) -> Iterator[set[str]]:
    """Collects the names of numbers, strings and small containers that `module` changes.

    The attributes are looked at when a call of `module` ends, since torch.export puts them back.

    Yields:
        A set of names such as `layers.0.calls`, filled by the calls inside the `with` block.
    """
    changed: set[str] = set()
    if isinstance(module, torch.jit.ScriptModule):
        yield changed
        return
    before = _attributes(module)

    def look(module: torch.nn.Module, _args: Any, _result: Any) -> None:
        # TorchDynamo runs this too, where it would become part of the program.
        if not torch.compiler.is_dynamo_compiling():
            after = _attributes(module)
            changed.update(name for name in after if after[name] != before.get(name))

    handle = module.register_forward_hook(look)
    try:
        yield changed
    finally:
        handle.remove()


def _attributes(module: torch.nn.Module) -> dict[str, Any]:
    return {
        f"{path}.{name}" if path else name: _value(value)
        for path, part in module.named_modules()
        for name, value in vars(part).items()
        if name not in _OWN and not isinstance(value, torch.Tensor)
    }


def _value(value: Any) -> Any:
    """Equal for equal plain values; comparing symbolic numbers would restrict them."""
    if isinstance(value, (bool, int, float, str, type(None))):
        return type(value), repr(value)
    if isinstance(value, (list, tuple, set)) and len(value) <= _FEW:
        return type(value), tuple(map(_value, value))
    if isinstance(value, dict) and len(value) <= _FEW:
        return type(value), tuple((_value(key), _value(item)) for key, item in value.items())
    return id(value)
