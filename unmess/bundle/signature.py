"""`signature.json`: maps calls of a bundle to the module's functions, without PyTorch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from unmess.bundle.elements import numpy_type
from unmess.core.files.reading import read_manifest_file
from unmess.core.signature.call import arrange, shape_misfit, stride_misfit
from unmess.core.signature.reading import fields_of
from unmess.core.signature.signature import Signature, TensorSpec
from unmess.core.signature.tree import flatten, unflatten


@dataclass(frozen=True)
class NumpySignature(Signature):
    """A signature in NumPy arrays; `in_spec` and `out_spec` are `Tree`s."""

    tensor_type: ClassVar[type] = np.ndarray

    def _leaves(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        # The containers of a call: a tuple of positional arguments, and a dict of the others.
        positional, keywords = (next(iter(tree.values())) for tree in self.in_spec["tuple"])
        arranged = arrange(
            args, kwargs, len(positional), [key for key, _ in keywords], self.parameter_names
        )
        named = [*(self.parameter_names or ())][: len(positional)]
        named += [f"argument {index}" for index in range(len(named), len(positional))]
        leaves = []
        for name, tree, value in zip(named, positional, arranged[0], strict=True):
            leaves += flatten(tree, value, name)
        for key, tree in keywords:
            leaves += flatten(tree, arranged[1][key], key)
        return leaves

    def _result(self, leaves: Iterable[Any]) -> Any:
        return unflatten(self.out_spec, iter(leaves))

    def _tensor_misfit(self, name: str, spec: TensorSpec, value: Any) -> str | None:
        # Reject masked arrays: NumPy skips their masked elements, but the program would read them.
        is_array = isinstance(value, (np.ndarray, np.generic))
        if not is_array or isinstance(value, np.ma.MaskedArray):
            return f"{name} is a {type(value).__name__}, expected an array {spec}"
        if value.dtype != spec.dtype:
            return f"{name} has dtype {value.dtype}, expected {spec.dtype}"
        if problem := shape_misfit(name, spec.shape, value.shape, spec):
            return problem
        if spec.strides is None:
            return None
        strides = [stride // value.dtype.itemsize for stride in value.strides]
        return stride_misfit(name, spec.strides, value.shape, strides)


def read_signature(path: Path) -> dict[str, NumpySignature]:
    """Reads the signatures of the entry points by name, in order."""
    document = read_manifest_file(path)
    return {name: _signature(form) for name, form in document["entries"].items()}


def _signature(form: Mapping[str, Any]) -> NumpySignature:
    return NumpySignature(
        in_spec=form["call"],
        out_spec=form["result"],
        **fields_of(
            form,
            numpy_type,
            lambda values, dtype, shape: np.array(values, dtype).reshape(shape),
        ),
    )
