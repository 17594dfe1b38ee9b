"""Finds the inputs and dimensions of a call that a user names in `dynamic_shapes`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.export import Dim as ExportDim
from torch.export.dynamic_shapes import (
    _combine_args,
    _DerivedDim,
    _DimHint,
    _DimHintType,
    _tree_map_with_path,
)
from torch.utils import _pytree as pytree

from unmess.core.errors.error import Error
from unmess.core.options.dynamic_axis import DynamicAxis
from unmess.core.signature.paths import leaves_with_path, paths_of


@dataclass(frozen=True)
class Axis:
    """A dimension declared dynamic.

    Attributes:
        leaf: the position of the input among the leaves of the call.
        path: the input in the call, as a user writes it: `x`, `batch['images'][0]`.
        axis: the index of the dimension.
        dim: the declared `Dim` or hint.
    """

    leaf: int
    path: str
    axis: int
    dim: Any

    @property
    def place(self) -> str:
        """The size as it is shown to users: `x.shape[0]`."""
        return f"{self.path}.shape[{self.axis}]"

    @property
    def root(self) -> ExportDim | None:
        """The named size of the dimension; None if PyTorch infers it."""
        if isinstance(self.dim, _DimHint):
            return None
        return self.dim.root if isinstance(self.dim, _DerivedDim) else self.dim


class CallInputs:
    """The leaves of a call, with their paths."""

    def __init__(self, module: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]):
        self._module = module
        self.combined = _combine_args(module, args, kwargs)
        self.leaves, self._spec = pytree.tree_flatten((args, kwargs))
        self.paths = leaf_paths(module, self._spec)

    def call(self, leaves: list[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Returns the arguments of the call with other leaves."""
        return pytree.tree_unflatten(leaves, self._spec)

    def axes(self, shapes: Any) -> tuple[Axis, ...]:
        """Returns the dimensions that `shapes` makes dynamic."""
        combined = self.combined
        if isinstance(shapes, (tuple, list)):
            combined = type(shapes)(combined.values())
        # A tensor may be passed twice: each declaration takes its next position.
        places: dict[int, list[int]] = {}
        for index, leaf in enumerate(self.leaves):
            places.setdefault(id(leaf), []).append(index)
        axes = []

        def visit(_path: Any, value: Any, shape: Any) -> None:
            found = places[id(value)]
            leaf = found.pop(0) if len(found) > 1 else found[0]
            if not isinstance(shape, dict):
                shape = dict(enumerate(shape if isinstance(shape, (tuple, list)) else ()))
            for axis, dim in shape.items():
                if not isinstance(dim, (ExportDim, _DimHint)) or _is_static(dim):
                    continue
                self._check_axis(leaf, value, axis)
                axes.append(Axis(leaf, self.paths[leaf], axis, dim))

        _tree_map_with_path(visit, combined, shapes, tree_name="inputs")
        return tuple(axes)

    def shapes(self, axes: Sequence[DynamicAxis]) -> Any:
        """Converts parsed dimensions to the `dynamic_shapes` of torch.export."""
        roots: dict[str, ExportDim] = {}
        for axis in sorted(axes, key=lambda axis: (axis.min, axis.max) == (None, None)):
            if axis.name is not None and axis.name not in roots:
                roots[axis.name] = ExportDim(axis.name, min=axis.min, max=axis.max)
        by_leaf: dict[int, dict[int, Any]] = {}
        for axis in axes:
            for leaf in self._find(axis):
                if axis.name is None:
                    dim = ExportDim.DYNAMIC(min=axis.min, max=axis.max)
                else:
                    root = roots[axis.name]
                    dim = root if axis.factor == 1 else axis.factor * root
                by_leaf.setdefault(leaf, {})[axis.axis] = dim
        dims = iter([by_leaf.get(index) for index in range(len(self.leaves))])
        args, kwargs = _nested(self._spec, dims)
        return _combine_args(self._module, args, kwargs)

    def _find(self, axis: DynamicAxis) -> list[int]:
        """Returns the indices of the leaves that a parsed dimension refers to."""
        if axis.input == "*":
            found = [
                index
                for index, leaf in enumerate(self.leaves)
                if isinstance(leaf, torch.Tensor) and leaf.dim() > axis.axis
            ]
            if not found:
                raise Error(
                    "usage",
                    f"{axis.text!r}: no input has an axis {axis.axis}",
                    hint=f"axes count from 0; the call has {self._shown()}",
                )
            return found
        names = {_dotted(path): index for index, path in enumerate(self.paths)}
        first, *rest = axis.input.split(".")
        if first.isdecimal() and int(first) < len(self.combined):
            first = [*self.combined][int(first)]
        leaf = names.get(".".join([first, *rest]))
        if leaf is None:
            raise Error(
                "usage",
                f"{axis.text!r}: the call has no input {axis.input!r}",
                hint=f"it has {self._shown()}",
            )
        self._check_axis(leaf, self.leaves[leaf], axis.axis, axis.text)
        return [leaf]

    def _check_axis(self, leaf: int, value: Any, axis: Any, text: str | None = None) -> None:
        place = f"{self.paths[leaf]} (in {text!r})" if text else self.paths[leaf]
        if not isinstance(value, torch.Tensor):
            raise Error(
                "usage",
                f"{place} is a {type(value).__name__}, which has no axes",
                hint=f"the call has {self._shown()}",
            )
        if not isinstance(axis, int) or not 0 <= axis < value.dim():
            shape = "x".join(map(str, value.shape)) or "a scalar"
            raise Error(
                "usage",
                f"{place} has no axis {axis}: its example is {shape}",
                hint="axes count from 0",
            )

    def _shown(self) -> str:
        """Lists the tensors of the call with their shapes, named as in `--dynamic`."""
        return ", ".join(
            f"{_dotted(path)} ({'x'.join(map(str, leaf.shape)) or 'a scalar'})"
            for path, leaf in zip(self.paths, self.leaves, strict=True)
            if isinstance(leaf, torch.Tensor)
        )


def _nested(spec: pytree.TreeSpec, dims: Iterator[Any]) -> Any:
    """Returns the entries of `dims`, one for each leaf, nested as torch.export expects it.

    Python's containers keep their type. Other registered classes, such as key-value caches, become
    lists.
    """
    if spec.is_leaf():
        return next(dims)
    inner = [_nested(child, dims) for child in spec.children()]
    if spec.type in pytree.BUILTIN_TYPES:
        return pytree.SUPPORTED_NODES[spec.type].unflatten_fn(inner, spec.context)
    return inner


def leaf_paths(module: Any, in_spec: pytree.TreeSpec) -> list[str]:
    """Returns the path of each leaf of a call, in the callee's terms: `x`, `batch['images'][0]`."""
    args, kwargs = in_spec.children()
    arguments = [_Argument(spec) for spec in (*args.children(), *kwargs.children())]
    positional, named = arguments[: args.num_children], arguments[args.num_children :]
    by_keyword = dict(zip(kwargs.context, named, strict=True))
    combined = dict(_combine_args(module, tuple(positional), by_keyword))
    for (first, *rest), argument in leaves_with_path(combined):
        argument.path = f"{first.key}{pytree.keystr(tuple(rest))}"
    return [
        argument.path + pytree.keystr(path)
        for argument in arguments
        for path in paths_of(argument.spec)
    ]


@dataclass
class _Argument:
    """The structure of an argument, and its path in the call."""

    spec: pytree.TreeSpec
    path: str = ""


def _dotted(path: str) -> str:
    """Converts `batch['images'][0]` to `batch.images.0`."""
    return re.sub(r"\[['\"]?(.*?)['\"]?\]", r".\1", path)


def _is_static(dim: Any) -> bool:
    return isinstance(dim, _DimHint) and dim.type == _DimHintType.STATIC
