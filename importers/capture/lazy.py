"""Captures a model with lazy tensors: it runs on a device that only records operators.

The dispatcher records each operator of a call, below autograd and functionalized. PyTorch's
TorchScript backend for lazy tensors turns the recorded operators into a TorchScript graph. An
`nn.Module` that `torch.export` accepts evaluates that graph. The model's Python code runs and is
not analyzed, so it may do anything that does not depend on values.

An operator that the lazy device lacks would run immediately, and its result on the example would
become a constant of the program. `_Watch` refuses that, and also reads of a value (`item()`).
The recorded operators have no source lines.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any

import torch
import torch._lazy
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

from importers.capture.named_state import named_state, register, replaced
from importers.capture.tensor_data import data_access
from importers.capture.torchscript import CollectedGraph
from unmess.core.errors.error import Error

_DEVICE = "lazy"
_FALLBACK = "aten::"  # prefix of the counters of operators that fell back to immediate execution


class Lazy:
    """Runs the module on the lazy device and exports the recorded graph."""

    name = "lazy"
    specialized: frozenset[str] = frozenset()

    def __call__(self, module, args, kwargs, dynamic_shapes):
        """See `Strategy`."""
        if dynamic_shapes:
            raise ValueError(
                "the strategy lazy does not support dynamic shapes: lazy tensors "
                "have the sizes of the example"
            )
        _start_backend()
        start = named_state(module)
        leaves, spec = pytree.tree_flatten((args, kwargs))
        tensors = [index for index, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]
        own = {name: tensor.detach().to(_DEVICE) for name, tensor in start.items()}
        given = {index: leaves[index].detach().to(_DEVICE) for index in tensors}
        places: dict[int, Any] = {
            _identity(tensor): place for place, tensor in {**own, **given}.items()
        }
        versions = {name: tensor._version for name, tensor in own.items()}
        call_args, call_kwargs = pytree.tree_unflatten(
            [given.get(index, leaf) for index, leaf in enumerate(leaves)], spec
        )
        with (
            torch.no_grad(),
            replaced(module, own) as now,
            data_access(module),
            torch.device(_DEVICE),
            _Watch(),
        ):
            result = module(*call_args, **call_kwargs)
            after = now()
        written = [
            name
            for name, tensor in own.items()
            if after[name] is not tensor or tensor._version != versions[name]
        ]
        outputs, out_spec = pytree.tree_flatten(result)
        roots = [leaf for leaf in outputs if isinstance(leaf, torch.Tensor)]
        graph = _collected([*roots, *(after[name] for name in written)], places)
        collected = _Collected(module, start, graph, written, (outputs, out_spec))
        return torch.export.export(collected, args, kwargs, strict=False)


_started = False


def _start_backend() -> None:
    global _started
    if not _started:
        import torch._lazy.ts_backend

        torch._lazy.ts_backend.init()
        _started = True


def _collected(roots: list[torch.Tensor], places: dict[int, Any]) -> CollectedGraph:
    """Returns the graph that computes `roots`.

    Its inputs are names of the state, positions of leaves, or constant tensors.
    """
    # Add an operator at each root: a root that is an input or a constant is not in the graph.
    roots = [torch.ops.aten.alias_copy(_on_device(root)) for root in roots]
    ids, data = torch._C._lazy_ts_backend._get_tensors_ts_device_data_node(roots)
    graph = torch._C.parse_ir(torch._C._lazy._get_tensors_backend(roots))
    inputs = [places.get(identity, value) for identity, value in zip(ids, data, strict=True)]
    count = len(list(graph.inputs()))
    if count != len(inputs):
        raise RuntimeError(
            f"the graph of lazy tensors has {count} inputs, but only {len(inputs)} "
            "tensors are known"
        )
    return CollectedGraph(graph, inputs)


def _on_device(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.detach() if _is_lazy(tensor) else tensor.detach().to(_DEVICE)


class _Collected(torch.nn.Module):
    """A module that evaluates the recorded graph, with the original's state and call signature."""

    def __init__(self, module, state, graph: CollectedGraph, written: list[str], result):
        super().__init__()
        parameters = dict(module.named_parameters())
        for name, tensor in state.items():
            fixed = name in parameters and name not in written
            register(self, name, parameters[name] if fixed else tensor.detach())
        for name, tensor in graph.constants.items():
            self.register_buffer(name, tensor, persistent=False)
        outputs, spec = result

        def forward(*args, **kwargs):
            leaves = pytree.tree_leaves((args, kwargs))
            now = dict(self.named_parameters()) | dict(self.named_buffers())
            results = iter(graph.evaluate(self, now, leaves))
            values = [next(results) if isinstance(leaf, torch.Tensor) else leaf for leaf in outputs]
            for name in written:
                now[name].copy_(next(results))
            return pytree.tree_unflatten(values, spec)

        forward.__signature__ = inspect.signature(module.forward)
        self.forward = forward


class _Watch(TorchDispatchMode):
    """Ensures that every operator on the inputs is recorded, and evaluates constants.

    Results that depend on no input (`torch.arange`, a mask made from it) are computed on the CPU
    and become constants of the program.
    """

    def __init__(self) -> None:
        super().__init__()
        # Values of lazy tensors that do not depend on any input, by id. Operators arrive here
        # functionalized, so a tensor never changes.
        self._constants: dict[int, torch.Tensor] = {}

    def __torch_dispatch__(self, operator, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        tensors = [
            leaf for leaf in pytree.tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)
        ]
        lazy = [tensor for tensor in tensors if _is_lazy(tensor)]
        if all(_identity(tensor) in self._constants for tensor in lazy):
            return self._constant(operator, args, kwargs, is_source=not lazy)
        if operator is torch.ops.aten._local_scalar_dense.default:
            raise Error(
                "capture",
                "the model reads a value of a tensor (item(), or a tensor as a condition)",
                hint="lazy tensors have no values: use torch.where, or another capture strategy",
            )
        return self._collect(operator, args, kwargs)

    def _constant(self, operator, args: tuple, kwargs: dict, *, is_source: bool) -> Any:
        if torch.Tag.nondeterministic_seeded in operator.tags:
            raise Error(
                "capture",
                f"{operator} draws random numbers, which would become constants of the program",
                hint="pass random numbers as inputs",
            )
        args, kwargs = pytree.tree_map_only(torch.Tensor, self._value, (args, kwargs))
        if kwargs.get("device") is not None:
            kwargs["device"] = torch.device("cpu")
        result = operator(*args, **kwargs)

        def keep(value: torch.Tensor) -> torch.Tensor:
            tensor = value.to(_DEVICE)
            self._constants[_identity(tensor)] = value
            # The dispatcher wraps results only of operators on functional tensors.
            return torch._to_functional_tensor(tensor) if is_source else tensor

        return pytree.tree_map_only(torch.Tensor, keep, result)

    def _value(self, tensor: torch.Tensor) -> torch.Tensor:
        return self._constants[_identity(tensor)] if _is_lazy(tensor) else tensor

    def _collect(self, operator, args: tuple, kwargs: dict) -> Any:
        args, kwargs = pytree.tree_map_only(torch.Tensor, _moved, (args, kwargs))
        if operator is torch.ops.aten._to_copy.default and _names_cpu(kwargs.get("device")):
            # The lazy device replaces the CPU. A result on the real CPU would be a constant.
            kwargs = {**kwargs, "device": torch.device(_DEVICE)}
        rewritten = _REWRITTEN.get(operator)
        if rewritten is not None:
            with self:
                return rewritten(*args, **kwargs)
        if operator is torch.ops.aten.native_batch_norm.default and args[5]:
            raise Error(
                "capture",
                "the lazy device does not update the running statistics of a batch norm",
                hint="call eval() first, or capture a training step with strategy make_fx",
            )
        before = _fallbacks()
        result = operator(*args, **kwargs)
        missing = [name for name, count in _fallbacks().items() if count > before.get(name, 0)]
        if missing:
            raise Error(
                "capture",
                f"the lazy device has no kernel for {', '.join(sorted(missing))}",
                hint="capture with strategy auto, or write the model without the operator",
            )
        if not all(map(_is_lazy, filter(torch.is_tensor, pytree.tree_leaves(result)))):
            raise Error(
                "capture",
                f"{operator} moves a tensor to another device, where its operators are not "
                "recorded",
                hint="capture with strategy auto, or keep the tensors on one device",
            )
        return result


def _moved(tensor: torch.Tensor) -> torch.Tensor:
    """Moves a constant to the lazy device: a tensor that the module does not register.

    Scalar tensors stay where they are.
    """
    return tensor if _is_lazy(tensor) or tensor.dim() == 0 else tensor.to(_DEVICE)


def _names_cpu(device: torch.device | None) -> bool:
    return device is not None and device.type == "cpu"


def _is_lazy(tensor: torch.Tensor) -> bool:
    return tensor.device.type == _DEVICE


def _identity(tensor: torch.Tensor) -> int:
    return torch._C._lazy._get_tensor_id(tensor)


def _fallbacks() -> dict[str, int]:
    names: Iterable[str] = torch._C._lazy._counter_names()
    return {
        name: torch._C._lazy._counter_value(name) for name in names if name.startswith(_FALLBACK)
    }


def _safe_softmax(x: torch.Tensor, dim: int, dtype: torch.dtype | None = None) -> torch.Tensor:
    masked = (x != float("-inf")).sum(dim, keepdim=True) == 0
    return torch.softmax(x, dim, dtype=dtype).masked_fill(masked, 0.0)


def _copy(x: torch.Tensor, source: torch.Tensor, non_blocking: bool = False) -> torch.Tensor:
    source = source.to(x.dtype)
    # An expand to the same shape becomes `as_strided`, which the lazy device lacks too.
    return source.clone() if source.shape == x.shape else source.expand(x.shape).clone()


# Operators that the lazy device lacks, rewritten with operators that it has.
_REWRITTEN: dict[Any, Callable[..., Any]] = {
    torch.ops.aten._safe_softmax.default: _safe_softmax,
    torch.ops.aten.copy.default: _copy,
    torch.ops.aten.hardswish.default: lambda x: x * torch.clamp(x + 3, 0, 6) / 6,
    torch.ops.aten.hardsigmoid.default: lambda x: torch.clamp(x + 3, 0, 6) / 6,
}
