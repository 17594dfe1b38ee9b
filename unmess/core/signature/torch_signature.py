"""Signatures of programs that are called with torch tensors, in PyTorch's pytrees."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch.utils import _pytree as pytree

from unmess.core.signature.call import arrange, misfit, shape_misfit, stride_misfit
from unmess.core.signature.signature import ScalarSpec, Signature, TensorSpec

_PLAIN = (torch.Tensor, torch.nn.Parameter)


@dataclass(frozen=True)
class TorchSignature(Signature):
    """A signature in torch tensors; `in_spec` and `out_spec` are PyTorch's `TreeSpec`.

    `restore` converts the result in the form of `out_spec` to the model's own result, if the
    capture needed another form.
    """

    restore: Callable[[Any], Any] | None = None

    tensor_type: ClassVar[type] = torch.Tensor

    def flatten_call(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """See `Signature.flatten_call`."""
        checks = self._checks
        if checks is not None and len(args) == len(checks) and not kwargs:
            for (_, fits), value in zip(checks, args, strict=True):
                if not fits(value):
                    break
            else:
                return {name: value for (name, _), value in zip(checks, args, strict=True)}
        return super().flatten_call(args, kwargs)

    @functools.cached_property
    def _checks(self) -> list[tuple[str, Callable[[Any], bool]]] | None:
        """Returns the name and the quick check of each argument.

        Returns None if they are not enough: a call has containers, keywords, sizes or guards.
        """
        positional, keywords = self.in_spec.children()
        is_flat = all(each.is_leaf() for each in positional.children())
        if not is_flat or keywords.num_children or self.guards or self.dynamic_inputs():
            return None
        return [(leaf.name, quick_check(leaf.spec)) for leaf in self.inputs]

    def _leaves(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        args_spec, kwargs_spec = self.in_spec.children()
        call = arrange(
            args, kwargs, args_spec.num_children, list(kwargs_spec.context), self.parameter_names
        )
        leaves, spec = pytree.tree_flatten(call)
        if spec == self.in_spec:
            return leaves
        if len(leaves) != len(self.inputs):
            raise misfit(f"the call has {len(leaves)} leaves, expected {len(self.inputs)}")
        raise misfit("the nesting or the container types of the arguments differ from the capture")

    def _result(self, leaves: Iterable[Any]) -> Any:
        result = self._build(leaves)
        return result if self.restore is None else self.restore(result)

    @functools.cached_property
    def _build(self) -> Callable[[Iterable[Any]], Any]:
        """Returns the containers of `out_spec` with these leaves."""
        return unflatten_function(self.out_spec)

    def _tensor_misfit(self, name: str, spec: TensorSpec, value: Any) -> str | None:
        return tensor_misfit(name, spec, value)


def unflatten_function(spec: pytree.TreeSpec) -> Callable[[Iterable[Any]], Any]:
    """Returns a function that puts leaves into the containers of `spec`.

    PyTorch's `tree_unflatten` makes a tuple of each `torch.Size`; this function does not.
    """
    if spec.is_leaf():
        return _only
    if torch.Size not in _containers(spec):
        return functools.partial(pytree.tree_unflatten, treespec=spec)
    return functools.partial(_with_sizes, spec=spec)


def _only(leaves: Iterable[Any]) -> Any:
    (leaf,) = leaves
    return leaf


def _containers(spec: pytree.TreeSpec) -> set[type]:
    return {spec.type}.union(*map(_containers, spec.children()))


def _with_sizes(leaves: Iterable[Any], spec: pytree.TreeSpec) -> Any:
    leaves = iter(leaves)
    if spec.is_leaf():
        return next(leaves)
    children = [_with_sizes(leaves, child) for child in spec.children()]
    if spec.type is torch.Size:
        return torch.Size(children)
    return pytree.SUPPORTED_NODES[spec.type].unflatten_fn(children, spec.context)


def tensor_misfit(name: str, spec: TensorSpec, value: Any) -> str | None:
    """Describes why a value is no tensor of this shape and dtype in CPU memory; None if it is."""
    if not isinstance(value, torch.Tensor):
        return f"{name} is a {type(value).__name__}, expected a tensor {spec}"
    if value.dtype != spec.dtype:
        return f"{name} has dtype {value.dtype}, expected {spec.dtype}"
    if problem := memory_misfit(name, value):
        return problem
    if problem := shape_misfit(name, spec.shape, tuple(value.shape), spec):
        return problem
    if spec.strides is None:
        return None
    if value.storage_offset():
        return (
            f"{name} begins at element {value.storage_offset()} of its memory, expected "
            "0: the model reads its memory with as_strided"
        )
    return stride_misfit(name, spec.strides, value.shape, value.stride())


def quick_check(spec: Any) -> Callable[[Any], bool]:
    """Returns a function that quickly checks a value, except its dynamic sizes.

    A value for which it returns False may still fit.
    """
    if isinstance(spec, ScalarSpec):
        return lambda value: type(value) is spec.type
    if not isinstance(spec, TensorSpec) or spec.strides is not None:
        return lambda value: False
    dtype, size, rank = spec.dtype, spec.dtype.itemsize, len(spec.shape)
    fixed = [(axis, each) for axis, each in enumerate(spec.shape) if isinstance(each, int)]
    shape = torch.Size(each for _, each in fixed) if len(fixed) == rank else None

    def has_shape(value: torch.Tensor) -> bool:
        if shape is not None:
            return value.shape == shape
        found = value.shape
        return len(found) == rank and all(found[axis] == each for axis, each in fixed)

    def fits(value: Any) -> bool:
        if type(value) not in _PLAIN:
            return False
        try:
            return (
                value.dtype is dtype
                and has_shape(value)
                and value.is_cpu
                and value.layout is torch.strided
                and value.is_contiguous()
                and value.untyped_storage().nbytes()
                >= size * (value.numel() + value.storage_offset())
            )
        except (NotImplementedError, RuntimeError):
            # Nested tensors have no sizes, and tensors in functorch transforms have no memory.
            return False

    return fits


def memory_misfit(name: str, value: torch.Tensor) -> str | None:
    """Describes why a tensor's elements are not in CPU memory; None if they are."""
    if value.device.type != "cpu":
        return f"{name} is on {value.device}, expected cpu"
    if value.layout != torch.strided or value.is_nested:
        layout = "nested" if value.is_nested else value.layout
        return f"{name} has layout {layout}, expected a dense tensor"
    try:
        memory = value.untyped_storage()
        is_there = memory.device.type == "cpu" and (memory.data_ptr() or not value.numel())
    except (NotImplementedError, RuntimeError):
        is_there = False
    # Fake tensors, tensors in functorch transforms, and subclasses that wrap other tensors.
    if not is_there:
        return f"{name} is a {type(value).__name__} without elements in memory"
    if value.numel():
        steps = zip(value.shape, value.stride(), strict=True)
        end = value.storage_offset() + 1 + sum((size - 1) * stride for size, stride in steps)
        if end * value.dtype.itemsize > memory.nbytes():
            return f"{name} extends beyond the end of its memory"
    return None
