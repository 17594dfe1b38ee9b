"""Signatures: inputs and results of a program, for the model and for the IR."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils import _pytree as pytree

from unmess.core.signature.call import arrange, check_constant, misfit, shape_misfit, stride_misfit
from unmess.core.signature.dim import Dim
from unmess.core.signature.size_expression import SizeExpression
from unmess.core.signature.sizes import broken_guard, solve


@dataclass(frozen=True)
class TensorSpec:
    """Shape (ints, `Dim` if dynamic) and dtype of a tensor.

    `strides`, in elements, are required of an input whose memory the model reads with `as_strided`.
    A stride that depends on a dynamic size is None.
    """

    shape: tuple[int | Dim, ...]
    dtype: torch.dtype
    strides: tuple[int | None, ...] | None = None

    def __str__(self) -> str:
        return "x".join([*map(str, self.shape), str(self.dtype).removeprefix("torch.")])


@dataclass(frozen=True)
class ScalarSpec:
    """A Python number computed by the program: `int`, `float` or `bool`."""

    type: type

    def __str__(self) -> str:
        return self.type.__name__


@dataclass(frozen=True)
class Constant:
    """A leaf that the capture fixed: a Python value, None, or a small tensor."""

    value: Any


@dataclass(frozen=True)
class Input:
    """A leaf of the flattened call arguments. `name` is PyTorch's name of the placeholder."""

    name: str
    spec: TensorSpec | ScalarSpec | Constant


@dataclass(frozen=True)
class Argument:
    """An argument of the entry function in the IR.

    `kind` is `input` (a leaf of the call), `weight` (borrowed, never written) or `state` (a buffer
    that the model mutates). `name` is the input's name or the name in the state dict.
    """

    kind: str
    name: str
    spec: TensorSpec | ScalarSpec


@dataclass(frozen=True)
class Result:
    """A result of the entry function in the IR.

    `kind` is `output` (a leaf of the model's result) or `state` (the new value of the buffer or
    input called `name`).
    """

    kind: str
    name: str
    spec: TensorSpec | ScalarSpec


@dataclass(frozen=True)
class Signature:
    """The model's own signature (pytrees) and how it maps to the IR's entry function.

    `inputs` are the leaves of `in_spec`; `arguments` the IR's arguments in order; `results` the
    IR's results in order. `outputs` are the leaves of `out_spec`: an index into `results`, or a
    `Constant`. `parameter_names` are the positional parameters of the model's `forward`, if known.
    A call may then pass by name what the capture passed by position, and the other way round.
    `restore` converts the result in the form of `out_spec` to the model's own result, if the
    capture needed another form.
    """

    in_spec: pytree.TreeSpec
    inputs: tuple[Input, ...]
    arguments: tuple[Argument, ...]
    results: tuple[Result, ...]
    out_spec: pytree.TreeSpec
    outputs: tuple[int | Constant, ...]
    parameter_names: tuple[str, ...] | None = None
    restore: Callable[[Any], Any] | None = None
    guards: tuple[SizeExpression, ...] = ()

    def of_kind(self, kind: str) -> list[Argument]:
        """Returns the arguments of one kind, in the IR's order."""
        return [argument for argument in self.arguments if argument.kind == kind]

    def flatten_call(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the call's tensors and numbers by input name, after checking that they fit.

        Raises:
            Error: stage `run`; the number of arguments, a pytree, a shape, a dtype, a device or a
                value that the capture fixed does not fit the program.
        """
        values = {}
        args_spec, kwargs_spec = self.in_spec.children()
        call = arrange(
            tuple(args),
            dict(kwargs),
            args_spec.num_children,
            list(kwargs_spec.context),
            self.parameter_names,
        )
        for leaf, value in zip(self.inputs, self._leaves(*call), strict=True):
            if isinstance(leaf.spec, Constant):
                _check_fixed(leaf.name, leaf.spec.value, value)
                continue
            if isinstance(leaf.spec, ScalarSpec):
                if type(value) is not leaf.spec.type:
                    raise misfit(f"{leaf.name} is {value!r}, expected {leaf.spec}")
            else:
                _check_tensor(leaf.name, leaf.spec, value)
            values[leaf.name] = value
        self._solve(values)
        return values

    def _solve(self, values: Mapping[str, Any]) -> dict[str, int]:
        shapes = self.dynamic_inputs()
        sizes = {name: tuple(values[name].shape) for name in shapes}
        numbers = {name: value for name, value in values.items() if isinstance(value, (int, float))}
        return solve(shapes, sizes, numbers, self.guards)

    def symbols(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, int]:
        """Returns the values of the size symbols in a call; empty without dynamic dimensions.

        Raises:
            Error: as for `flatten_call`.
        """
        return self._solve(self.flatten_call(args, kwargs))

    def dynamic_inputs(self) -> dict[str, tuple[int | Dim, ...]]:
        """Returns the shapes of the inputs with dynamic dimensions, by input name."""
        return {
            leaf.name: leaf.spec.shape
            for leaf in self.inputs
            if isinstance(leaf.spec, TensorSpec)
            and any(isinstance(size, Dim) for size in leaf.spec.shape)
        }

    def shapes(
        self, symbols: Mapping[str, int], numbers: Mapping[str, Any]
    ) -> dict[str, tuple[int, ...]] | None:
        """Computes the shapes of the inputs with dynamic dimensions at these sizes.

        Args:
            symbols: a value for each size symbol.
            numbers: the inputs that are numbers, by name; guards may involve them.

        Returns:
            The shapes by input name; None if a size is out of range or a guard does not hold.
        """
        shapes = {}
        places = dict(numbers)
        for name, dims in self.dynamic_inputs().items():
            shape = []
            for axis, dim in enumerate(dims):
                size = dim.parsed.evaluate(symbols) if isinstance(dim, Dim) else dim
                if isinstance(dim, Dim) and not dim.holds(size):
                    return None
                places[f"{name}.shape[{axis}]"] = size
                shape.append(size)
            shapes[name] = tuple(shape)
        return shapes if broken_guard(self.guards, places) is None else None

    def unflatten_results(self, results: Sequence[Any]) -> Any:
        """Returns the model's own result from the IR's results. Skips those of kind `state`."""
        leaves = [
            leaf.value if isinstance(leaf, Constant) else results[leaf] for leaf in self.outputs
        ]
        result = pytree.tree_unflatten(leaves, self.out_spec)
        return result if self.restore is None else self.restore(result)

    def _leaves(self, args: tuple, kwargs: dict) -> list[Any]:
        leaves, spec = pytree.tree_flatten((args, kwargs))
        if spec == self.in_spec:
            return leaves
        if len(leaves) != len(self.inputs):
            raise misfit(f"the call has {len(leaves)} leaves, expected {len(self.inputs)}")
        raise misfit("the nesting or the container types of the arguments differ from the capture")


def _check_fixed(name: str, expected: Any, value: Any) -> None:
    """Raises an Error if a leaf differs from its fixed value, which may be a tensor."""
    if not isinstance(expected, torch.Tensor):
        check_constant(name, expected, value)
        return
    _check_tensor(name, TensorSpec(tuple(expected.shape), expected.dtype), value)
    same = (value == expected) | ((value != value) & (expected != expected))
    if not bool(same.all()):
        raise misfit(f"{name} is {value.tolist()}, but the capture fixed it to {expected.tolist()}")


def _check_tensor(name: str, spec: TensorSpec, value: Any) -> None:
    """Checks one tensor on its own. Relations between sizes are checked later."""
    if problem := tensor_misfit(name, spec, value):
        raise misfit(problem)


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
