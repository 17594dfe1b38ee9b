"""`signature.json`: maps calls of a bundle to the module's functions, without PyTorch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from unmess.bundle.elements import numpy_type
from unmess.core.files.reading import read_manifest_file
from unmess.core.signature.call import arrange, check_constant, misfit, shape_misfit, stride_misfit
from unmess.core.signature.dim import Dim
from unmess.core.signature.size_expression import SizeExpression
from unmess.core.signature.sizes import solve
from unmess.core.signature.tree import Tree, flatten, unflatten

_NUMBERS = {"bool": bool, "int": int, "float": float}


@dataclass(frozen=True)
class Array:
    """The shape (ints, `Dim` if dynamic) and dtype (PyTorch's name) of an array.

    `strides` are as in `unmess.core.signature.signature.TensorSpec`.
    """

    shape: tuple[int | Dim, ...]
    dtype: str
    strides: tuple[int | None, ...] | None = None

    def __str__(self) -> str:
        return "x".join([*map(str, self.shape), self.dtype])


@dataclass(frozen=True)
class Number:
    """A Python number."""

    type: type

    def __str__(self) -> str:
        return self.type.__name__


@dataclass(frozen=True)
class Constant:
    """A leaf whose value capture fixed."""

    value: Any


@dataclass(frozen=True)
class Fixed:
    """An array whose elements capture fixed; `values` has them in order."""

    array: Array
    values: tuple[Any, ...]


@dataclass(frozen=True)
class Slot:
    """An argument or a result of a function in the module, or a leaf of the call.

    `kind` is `input`, `output` or `state`; see `Argument` and `Result` in
    `unmess.core.signature.signature`.
    """

    kind: str
    name: str
    spec: Array | Number | Constant | Fixed


@dataclass(frozen=True)
class Entry:
    """An entry point.

    Attributes:
        call: the containers of (args, kwargs).
        inputs: the leaves of the call.
        arguments, results: of the function in the module, in order.
        result: the containers of the result.
        outputs: the leaves of the result, each an index into `results` or a `Constant`.
        parameters: the positional parameters of the model's `forward`; None if unknown.
        guards: conditions that sizes and numbers must meet.
    """

    call: Tree
    inputs: tuple[Slot, ...]
    arguments: tuple[Slot, ...]
    results: tuple[Slot, ...]
    result: Tree
    outputs: tuple[int | Constant, ...]
    parameters: tuple[str, ...] | None
    guards: tuple[SizeExpression, ...]

    def flatten_call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """Checks a call and returns its arrays and numbers by input name.

        Raises:
            Error: stage `run`; the call does not fit.
        """
        # The containers of a call: a tuple of positional arguments, and a dict of the others.
        positional, keywords = (next(iter(tree.values())) for tree in self.call["tuple"])
        arranged = arrange(
            args, kwargs, len(positional), [key for key, _ in keywords], self.parameters
        )
        named = [*(self.parameters or ())][: len(positional)]
        named += [f"argument {index}" for index in range(len(named), len(positional))]
        leaves = []
        for name, tree, value in zip(named, positional, arranged[0], strict=True):
            leaves += flatten(tree, value, name)
        for key, tree in keywords:
            leaves += flatten(tree, arranged[1][key], key)
        values = {}
        for slot, value in zip(self.inputs, leaves, strict=True):
            if isinstance(slot.spec, Fixed):
                _check_fixed(slot.name, slot.spec, value)
            elif isinstance(slot.spec, Constant):
                check_constant(slot.name, slot.spec.value, value)
            else:
                values[slot.name] = _checked(slot.name, slot.spec, value)
        self._check_sizes(values)
        return values

    def unflatten_results(self, results: Sequence[Any]) -> Any:
        """Returns the result in the model's own containers."""
        leaves = (
            leaf.value if isinstance(leaf, Constant) else results[leaf] for leaf in self.outputs
        )
        return unflatten(self.result, leaves)

    def _check_sizes(self, values: Mapping[str, Any]) -> None:
        dims = {
            slot.name: slot.spec.shape
            for slot in self.inputs
            if isinstance(slot.spec, Array) and any(isinstance(d, Dim) for d in slot.spec.shape)
        }
        shapes = {name: values[name].shape for name in dims}
        numbers = {name: v for name, v in values.items() if isinstance(v, (int, float))}
        solve(dims, shapes, numbers, self.guards)


def read_signature(path: Path) -> dict[str, Entry]:
    """Reads the entry points by name, in order."""
    document = read_manifest_file(path)
    return {name: _entry(fields) for name, fields in document["entries"].items()}


def _entry(fields: Mapping[str, Any]) -> Entry:
    parameters = fields["parameters"]
    return Entry(
        call=fields["call"],
        inputs=_slots(fields["inputs"]),
        arguments=_slots(fields["arguments"]),
        results=_slots(fields["results"]),
        result=fields["result"],
        outputs=tuple(
            leaf if isinstance(leaf, int) else Constant(leaf["constant"])
            for leaf in fields["outputs"]
        ),
        parameters=None if parameters is None else tuple(parameters),
        guards=tuple(map(SizeExpression, fields["guards"])),
    )


def _slots(described: Sequence[Mapping[str, Any]]) -> tuple[Slot, ...]:
    return tuple(Slot(one["kind"], one["name"], _spec(one)) for one in described)


def _spec(one: Mapping[str, Any]) -> Array | Number | Constant | Fixed:
    if "fixed" in one:
        form = one["fixed"]
        return Fixed(Array(tuple(form["shape"]), form["dtype"]), tuple(form["values"]))
    if "constant" in one:
        return Constant(one["constant"])
    if "number" in one:
        return Number(_NUMBERS[one["number"]])
    shape = (
        size if isinstance(size, int) else Dim(size["size"], size["min"], size["max"])
        for size in one["shape"]
    )
    strides = one.get("strides")
    return Array(tuple(shape), one["dtype"], None if strides is None else tuple(strides))


def _check_fixed(name: str, spec: Fixed, value: Any) -> None:
    given = _checked(name, spec.array, value).flatten().tolist()
    # Two NaNs count as the same: only a NaN is not equal to itself.
    same = (a == b or (a != a and b != b) for a, b in zip(given, spec.values, strict=True))
    if not all(same):
        raise misfit(f"{name} is {given}, but the capture fixed it to {list(spec.values)}")


def _checked(name: str, spec: Array | Number, value: Any) -> Any:
    if isinstance(spec, Number):
        if type(value) is not spec.type:
            raise misfit(f"{name} is {value!r}, expected {spec}")
        return value
    # Reject masked arrays: NumPy skips their masked elements, but the program would read them.
    if not isinstance(value, (np.ndarray, np.generic)) or isinstance(value, np.ma.MaskedArray):
        raise misfit(f"{name} is a {type(value).__name__}, expected an array {spec}")
    if value.dtype != numpy_type(spec.dtype):
        raise misfit(f"{name} has dtype {value.dtype}, expected {numpy_type(spec.dtype)}")
    if problem := shape_misfit(name, spec.shape, value.shape, spec):
        raise misfit(problem)
    if spec.strides is not None:
        strides = [stride // value.dtype.itemsize for stride in value.strides]
        if problem := stride_misfit(name, spec.strides, value.shape, strides):
            raise misfit(problem)
    return np.asarray(value)
