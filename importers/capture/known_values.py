"""Specializes control flow on the values of buffers and parameters to the values at capture.

A tracer has no values, so it fails at `if self.initialized.item() == 0:`. But the values of the
module's own tensors are known, and so are values computed from them alone. A model runs under
`KnownValues` only after a capture without it has failed.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import _disable_current_modes

from importers.capture.tensor_attributes import tensor_attributes

# Functions that return a value to Python.
_READS = frozenset(
    getattr(torch.Tensor, name)
    for name in ("__bool__", "__int__", "__float__", "__index__", "item", "tolist")
) | {torch.Tensor.equal, torch.Tensor.allclose, torch.equal, torch.allclose, torch.is_nonzero}


@dataclass(frozen=True)
class _Known:
    """A tensor of the tracer whose values are known.

    Attributes:
        tensor: the tensor. This reference keeps its id from being reused.
        version: the version of the tensor when it was created. A later write changes the version,
            and the values are no longer known.
        names: the module's tensors that it is computed from.
        compute: returns the values.
    """

    tensor: torch.Tensor
    version: int
    names: frozenset[str]
    compute: Callable[[], torch.Tensor]


class KnownValues(TorchFunctionMode):
    """Returns the real values for reads that depend only on the module's own tensors.

    Attributes:
        used: the names of the tensors whose values were read.
        written: the names of the tensors that the model writes in the same call.
    """

    def __init__(self, real: dict[str, torch.Tensor]):
        super().__init__()
        self._real = real
        self._known: dict[int, _Known] = {}
        self.used: set[str] = set()
        self.written: set[str] = set()

    def __torch_function__(self, func, types, args=(), kwargs=None):
        """Called for each function on tensors; see PyTorch's `TorchFunctionMode`."""
        kwargs = kwargs or {}
        leaves, spec = pytree.tree_flatten((args, kwargs))
        tensors = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]
        known = [self._find(tensor) for tensor in tensors]
        if not known or None in known:
            return func(*args, **kwargs)

        def compute() -> Any:
            values = iter([one.compute() for one in known])
            filled = [next(values) if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves]
            call_args, call_kwargs = pytree.tree_unflatten(filled, spec)
            return func(*call_args, **call_kwargs)

        names = frozenset().union(*(one.names for one in known))
        if func in _READS:
            self.used |= names
            with _disable_current_modes(), torch.no_grad():
                return compute()
        result = func(*args, **kwargs)
        is_new = isinstance(result, torch.Tensor) and all(result is not t for t in tensors)
        # An in-place write changes an operand; values are known only if they were never written.
        if is_new and all(t._version == k.version for t, k in zip(tensors, known, strict=True)):
            self._known[id(result)] = _Known(result, result._version, names, compute)
        return result

    def _find(self, tensor: torch.Tensor) -> _Known | None:
        found = self._known.get(id(tensor))
        return found if found is not None and tensor._version == found.version else None

    def begin(self, module: torch.nn.Module) -> None:
        """Records the module's tensors as known, at the beginning of a call."""
        self._known = {
            id(tensor): _Known(
                tensor, tensor._version, frozenset([name]), lambda name=name: self._real[name]
            )
            for name, tensor in named_tensors(module).items()
            if name in self._real
        }

    def end(self) -> None:
        """Records the tensors that the call has written, at its end."""
        for one in self._known.values():
            if one.tensor._version != one.version:
                self.written |= one.names


def named_tensors(module: torch.nn.Module) -> dict[str, torch.Tensor]:
    """Returns parameters, buffers and plain attributes that are tensors, by path."""
    attributes = tensor_attributes(module).items()
    return {
        **{name: value for name, value in attributes if isinstance(value, torch.Tensor)},
        **dict(module.named_parameters()),
        **dict(module.named_buffers()),
    }


@contextlib.contextmanager
def known_values(module: torch.nn.Module) -> Iterator[KnownValues]:
    """Runs calls of `module` inside the `with` block under `KnownValues`, and yields that mode."""
    known = KnownValues(named_tensors(module))
    handles = [
        module.register_forward_pre_hook(lambda module, _args: known.begin(module)),
        module.register_forward_hook(lambda *_: known.end()),
    ]
    try:
        with known:
            yield known
    finally:
        for handle in handles:
            handle.remove()
