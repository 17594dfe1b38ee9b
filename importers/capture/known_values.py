"""Control flow on the values of buffers and parameters, specialized to the values at capture.

A tracer has no values, so `if self.initialized.item() == 0:` stops it. The values of the module's
own tensors are known, though, and so are those of what is computed from them alone. A model runs
under `KnownValues` only after a capture without it has failed.
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

# They give a value to Python.
_READS = frozenset(
    getattr(torch.Tensor, name)
    for name in ("__bool__", "__int__", "__float__", "__index__", "item", "tolist")
) | {torch.Tensor.equal, torch.Tensor.allclose, torch.equal, torch.allclose, torch.is_nonzero}


@dataclass(frozen=True)
class _Known:
    """A tensor of the tracer whose values are known.

    Attributes:
        tensor: kept, so that its id stays its own.
        version: of the tensor when it was made. One that was written since has other values.
        names: the module's tensors that it is computed from.
        compute: gives the values.
    """

    tensor: torch.Tensor
    version: int
    names: frozenset[str]
    compute: Callable[[], torch.Tensor]


class KnownValues(TorchFunctionMode):
    """Answers reads of values that depend on the module's own tensors alone.

    Attributes:
        used: the names of the tensors whose values were read.
        written: those that the model writes in the same call.
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
        # Writing in place changes the operand; only values that were never written are known.
        if is_new and all(t._version == k.version for t, k in zip(tensors, known, strict=True)):
            self._known[id(result)] = _Known(result, result._version, names, compute)
        return result

    def _find(self, tensor: torch.Tensor) -> _Known | None:
        found = self._known.get(id(tensor))
        return found if found is not None and tensor._version == found.version else None

    def begin(self, module: torch.nn.Module) -> None:
        """A call begins: the module's tensors are known."""
        self._known = {
            id(tensor): _Known(
                tensor, tensor._version, frozenset([name]), lambda name=name: self._real[name]
            )
            for name, tensor in named_tensors(module).items()
            if name in self._real
        }

    def end(self) -> None:
        """A call ends: notes what it has written."""
        for one in self._known.values():
            if one.tensor._version != one.version:
                self.written |= one.names


def named_tensors(module: torch.nn.Module) -> dict[str, torch.Tensor]:
    """Parameters, buffers and plain attributes that are tensors, by path."""
    attributes = tensor_attributes(module).items()
    return {
        **{name: value for name, value in attributes if isinstance(value, torch.Tensor)},
        **dict(module.named_parameters()),
        **dict(module.named_buffers()),
    }


@contextlib.contextmanager
def known_values(module: torch.nn.Module) -> Iterator[KnownValues]:
    """Calls of `module` inside the `with` block run under `KnownValues`, which it yields."""
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
