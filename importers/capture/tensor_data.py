"""Makes `tensor.data` and other accesses to a tensor visible to tracers.

PyTorch's tracers record operators. Reading or assigning `tensor.data` is not an operator: the
tracer loses the tensor, and the program gets a constant instead. Under `DataAccess`, a read is
`detach()`. After an assignment, every operator on the tensor gets the assigned tensor. When the
model returns, the assigned value is written to its parameter, buffer or argument.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import torch
from torch.fx.experimental.symbolic_shapes import statically_known_true
from torch.overrides import TorchFunctionMode
from torch.utils import _pytree as pytree

from unmess.core.errors.error import Error

_GET = torch.Tensor.data.__get__
_SET = torch.Tensor.data.__set__
# Accesses to the autograd state of a tensor, which an assignment of its data does not change.
_AUTOGRAD = frozenset(
    accessor
    for name in ("grad", "requires_grad", "grad_fn", "is_leaf", "_grad", "_backward_hooks")
    for accessor in (getattr(torch.Tensor, name).__get__, getattr(torch.Tensor, name).__set__)
) | {torch.Tensor.requires_grad_, torch.Tensor.backward}
# Descriptions for the error that replaces PyTorch's if the access fails during a capture.
_WITHOUT_FORM = {
    torch.Tensor.data_ptr: "the address of a tensor (data_ptr())",
    torch.Tensor.tolist: "the values of a tensor as a list (tolist())",
    torch.Tensor.numpy: "the values of a tensor as a NumPy array (numpy())",
    torch.Tensor.__array__: "the values of a tensor as a NumPy array",
    torch.Tensor.__dlpack__: "the memory of a tensor (DLPack)",
    torch.Tensor.__format__: "the value of a tensor as text",
    torch.Tensor.share_memory_: "the memory of a tensor (share_memory_())",
    torch.Tensor.apply_: "a Python function of each element (apply_())",
    torch.Tensor.map_: "a Python function of each element (map_())",
}
# These read memory without an operator. For a lazy tensor they return the example's values.
_READ_BELOW = frozenset({torch.Tensor.data_ptr, torch.Tensor.tolist})


class DataAccess(TorchFunctionMode):
    """Rewrites `tensor.data` and similar accesses to operators that tracers record.

    Args:
        detach: whether to replace reads of `data` by `detach()`. A tracer below autograd records
            the read itself, and the data then has its own version counter, as in eager.
    """

    def __init__(self, *, detach: bool):
        super().__init__()
        self._detach = detach
        # Tensors and their assigned data, by the tensor's id. The reference to the tensor keeps its
        # id from being reused.
        self._assigned: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}
        # Tensors, the data that was read, and the version of that data.
        self._read: list[tuple[torch.Tensor, torch.Tensor, int]] = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        """Called for each function on tensors; see PyTorch's `TorchFunctionMode`."""
        kwargs = kwargs or {}
        if torch.compiler.is_dynamo_compiling():
            return func(*args, **kwargs)
        if func == _SET:
            return self._assign(*args)
        if self._assigned and func not in _AUTOGRAD:
            if not self._detach and torch.is_grad_enabled() and not _is_accessor(func):
                self._check_gradients(pytree.tree_leaves((args, kwargs)))
            args, kwargs = pytree.tree_map_only(torch.Tensor, self._current, (args, kwargs))
        if func == _GET:
            return args[0].detach() if self._detach else self._data(args[0])
        if func == torch.Tensor.__deepcopy__:
            return _deepcopy(*args)
        if func in SEQUENCES and kwargs.get("out") is not None:
            return write_sequence(func, args, kwargs)
        if func in _READ_BELOW and args[0].device.type == "lazy":
            raise TypeError(_no_form(func))
        try:
            return func(*args, **kwargs)
        except Exception as problem:
            if func not in _WITHOUT_FORM:
                raise
            raise TypeError(_no_form(func)) from problem

    def _assign(self, tensor: torch.Tensor, value: torch.Tensor) -> None:
        self._assigned[id(tensor)] = tensor, self._current(value).detach()

    def _data(self, tensor: torch.Tensor) -> torch.Tensor:
        data = tensor.data
        self._read.append((tensor, data, data._version))
        return data

    def _current(self, tensor: torch.Tensor) -> torch.Tensor:
        return self._assigned.get(id(tensor), (None, tensor))[1]

    def _check_gradients(self, leaves: list[Any]) -> None:
        """Raises an Error if a gradient would belong to the assigned data instead of the tensor."""
        if any(id(leaf) in self._assigned and leaf.requires_grad for leaf in leaves):
            raise Error(
                "capture",
                "the model computes gradients of a tensor after it assigned the tensor's data",
                hint="write the tensor with copy_() under torch.no_grad() instead",
            )

    def begin(self) -> None:
        """Clears the state of an earlier call."""
        self._assigned.clear()
        self._read.clear()

    def end(self, module: torch.nn.Module, args: Any, result: Any) -> Any:
        """Writes assigned data to parameters, buffers and arguments; returns the call's result.

        Raises:
            Error: stage `capture`, if the data has another shape or dtype than before.
        """
        # Gradients are computed by now, so it is safe to show writes to the data in the version of
        # the tensor, which make_fx compares.
        for tensor, data, version in reversed(self._read):
            if data._version != version:
                torch._C._autograd._unsafe_set_version_counter((tensor,), (tensor._version + 1,))
        if not self._assigned:
            return result
        outlive = {
            id(tensor): name
            for name, tensor in (
                *module.named_parameters(),
                *module.named_buffers(),
                *((f"argument {i}", leaf) for i, leaf in enumerate(pytree.tree_leaves(args))),
            )
        }
        result = pytree.tree_map_only(torch.Tensor, self._current, result)
        assigned = [pair for key, pair in self._assigned.items() if key in outlive]
        names = [outlive[key] for key in self._assigned if key in outlive]
        self._assigned.clear()
        for name, (tensor, value) in zip(names, assigned, strict=True):
            if (tensor.shape, tensor.dtype) != (value.shape, value.dtype):
                raise Error(
                    "capture",
                    f"the model assigns data of another shape or dtype to {name}: "
                    f"{_described(value)} instead of {_described(tensor)}",
                    hint="use another tensor: state and arguments must keep their shape and dtype",
                )
        # Data assigned to one tensor may be a view of another: clone all before writing.
        values = [value.clone() for _, value in assigned] if len(assigned) > 1 else None
        for i, (tensor, value) in enumerate(assigned):
            with torch.no_grad():
                tensor.copy_(values[i] if values else value)
        return result


def _no_form(func: Callable[..., Any]) -> str:
    return f"a program cannot represent {_WITHOUT_FORM[func]}"


def _is_accessor(func: Callable[..., Any]) -> bool:
    return func.__name__ in ("__get__", "__set__")


def _described(tensor: torch.Tensor) -> str:
    return f"{'x'.join(map(str, tensor.shape)) or 'scalar'} {tensor.dtype}"


def _deepcopy(tensor: torch.Tensor, memo: dict) -> torch.Tensor:
    if id(tensor) not in memo:
        copied = tensor.detach().clone()
        memo[id(tensor)] = copied.requires_grad_() if tensor.requires_grad else copied
    return memo[id(tensor)]


@contextlib.contextmanager
def data_access(module: torch.nn.Module, *, detach: bool = True) -> Iterator[None]:
    """Runs calls of `module` inside the `with` block under `DataAccess`."""
    access = DataAccess(detach=detach)
    handles = [
        module.register_forward_pre_hook(lambda *_: access.begin()),
        module.register_forward_hook(
            lambda module, args, kwargs, result: access.end(module, (args, kwargs), result),
            with_kwargs=True,
        ),
    ]
    try:
        with access:
            yield
    finally:
        for handle in handles:
            handle.remove()


@contextlib.contextmanager
def data_access_in_dynamo() -> Iterator[None]:
    """Makes TorchDynamo record `tensor.data` as `detach()`, inside the `with` block."""
    from torch._dynamo.variables.tensor import TensorVariable

    def detach(self: TensorVariable, tx: Any) -> Any:
        return self.call_method(tx, "detach", [], {})

    with mock.patch.object(TensorVariable, "method_attr_data", detach):
        yield


# These resize `out` if its number of elements differs, and keep its shape otherwise.
SEQUENCES = frozenset({torch.arange, torch.linspace, torch.logspace, torch.range})


def write_sequence(function: Callable[..., Any], args: tuple, kwargs: dict[str, Any]) -> Any:
    """Calls one of SEQUENCES with eager's result shape; a tracer returns the sequence's shape."""
    out = kwargs["out"]
    rest = {name: value for name, value in kwargs.items() if name != "out"}
    values = function(*args, **{**rest, "dtype": out.dtype})
    if not statically_known_true(values.numel() == out.numel()):
        return function(*args, **kwargs)
    return out.copy_(values.reshape(out.shape))
