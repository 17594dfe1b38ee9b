"""Signatures: inputs and results of a program, for the model and for the IR.

Nothing here imports PyTorch or NumPy. `TorchSignature` is for programs that are called with torch
tensors, `NumpySignature` for bundles, which are called with NumPy arrays.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from unmess.core.signature.call import check_constant, misfit
from unmess.core.signature.size_expression import Dim, SizeExpression
from unmess.core.signature.sizes import broken_guard, solve


@dataclass(frozen=True)
class TensorSpec:
    """Shape (ints, `Dim` if dynamic) and dtype of a tensor.

    `dtype` is a `torch.dtype`; in a bundle, a `numpy.dtype`.
    `strides`, in elements, are required of an input whose memory the model reads with `as_strided`.
    A stride that depends on a dynamic size is None.
    """

    shape: tuple[int | Dim, ...]
    dtype: Any
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
    """A leaf that the capture fixed: a Python value, None, or a small tensor or array."""

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
class Signature(ABC):
    """The model's own signature (its containers) and how it maps to the IR's entry function.

    `in_spec` describes the containers of (args, kwargs), `out_spec` those of the result. `inputs`
    are the leaves of `in_spec`; `arguments` the IR's arguments in order; `results` the IR's results
    in order. `outputs` are the leaves of `out_spec`: an index into `results`, or a `Constant`.
    `parameter_names` are the positional parameters of the model's `forward`, if known. A call may
    then pass by name what the capture passed by position, and the other way round. `guards` are
    conditions that sizes and numbers must meet.
    """

    in_spec: Any
    inputs: tuple[Input, ...]
    arguments: tuple[Argument, ...]
    results: tuple[Result, ...]
    out_spec: Any
    outputs: tuple[int | Constant, ...]
    parameter_names: tuple[str, ...] | None = None
    guards: tuple[SizeExpression, ...] = ()

    tensor_type: ClassVar[type]

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
        for leaf, value in zip(self.inputs, self._leaves(tuple(args), dict(kwargs)), strict=True):
            if isinstance(leaf.spec, Constant):
                self._check_fixed(leaf.name, leaf.spec.value, value)
                continue
            if isinstance(leaf.spec, ScalarSpec):
                if type(value) is not leaf.spec.type:
                    raise misfit(f"{leaf.name} is {value!r}, expected {leaf.spec}")
            else:
                self._check_tensor(leaf.name, leaf.spec, value)
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
        return self._result(
            leaf.value if isinstance(leaf, Constant) else results[leaf] for leaf in self.outputs
        )

    def _check_fixed(self, name: str, expected: Any, value: Any) -> None:
        """Raises an Error if a leaf differs from its fixed value, which may be a tensor."""
        if not isinstance(expected, self.tensor_type):
            check_constant(name, expected, value)
            return
        self._check_tensor(name, TensorSpec(tuple(expected.shape), expected.dtype), value)
        same = (value == expected) | ((value != value) & (expected != expected))
        if not bool(same.all()):
            raise misfit(
                f"{name} is {value.tolist()}, but the capture fixed it to {expected.tolist()}"
            )

    def _check_tensor(self, name: str, spec: TensorSpec, value: Any) -> None:
        """Checks one tensor on its own. Relations between sizes are checked later."""
        if problem := self._tensor_misfit(name, spec, value):
            raise misfit(problem)

    @abstractmethod
    def _leaves(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Sequence[Any]:
        """Returns the leaves of a call. Raises an Error if its containers do not fit."""

    @abstractmethod
    def _result(self, leaves: Iterable[Any]) -> Any:
        """Returns the model's own result from its leaves."""

    @abstractmethod
    def _tensor_misfit(self, name: str, spec: TensorSpec, value: Any) -> str | None:
        """Describes why a value is no tensor of this shape and dtype; None if it is."""
