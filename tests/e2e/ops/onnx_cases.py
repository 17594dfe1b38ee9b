"""The node test cases of the onnx package, compared with the outputs that they record.

A case is a model, mostly of one node, with inputs and expected outputs. Cases with sequences,
optional values or strings as inputs or outputs are left out.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from onnx.backend.test.case.node import collect_testcases
from torch.utils import _pytree as pytree

from importers.onnx.element_types import to_torch
from importers.onnx.model import OnnxModel
from importers.recipes.limits import Limit
from unmess.conformance.operators.case import Accuracy

# The package itself allows 1e-3. It has computed its outputs in float32 or float64.
_ACCURACY = Accuracy(4, signed_zeros=False, relative=1e-5, of_largest=16)
# The tolerance of the package, for outputs that are recorded with four digits, and for means of
# 6480 numbers, which the reference runner sums sequentially.
_OF_PACKAGE = Accuracy(4, signed_zeros=False, relative=1e-3)
_ROUNDED = frozenset(
    {"test_averagepool_2d_ceil_last_window_starts_on_pad", "test_gridsample_bicubic"}
    | {"test_roialign_aligned_false", "test_roialign_aligned_true"}
)
_LONG_MEAN = "NCd1d2d3d4d5_mean_weight"
_RANDOM_OPERATORS = frozenset({"Bernoulli", "RandomUniformLike"})


class RecordedOnnxModel(OnnxModel):
    """An ONNX model that returns the result recorded in the case."""

    def __init__(self, proto: onnx.ModelProto, expected: tuple[torch.Tensor, ...]):
        """Initializes the model with `expected`, the recorded outputs of its only call."""
        super().__init__(proto, Path.cwd())
        self._expected = expected

    def __call__(self, *_args: torch.Tensor) -> Any:
        """Returns the recorded result."""
        return self._expected[0] if len(self._expected) == 1 else self._expected


@dataclass(frozen=True)
class OnnxCase:
    """A case of the package, with the attributes that `unmess.conformance.operators` needs."""

    name: str
    calls = ()

    def __str__(self) -> str:
        return self.name

    @property
    def operators(self) -> list[str]:
        """The operators in the model, each once."""
        nodes = _CASES[self.name].model.graph.node
        return sorted({f"{n.domain}.{n.op_type}".removeprefix(".") for n in nodes})

    @property
    def opset(self) -> int:
        """The version of ONNX's operators that the model uses."""
        imports = _CASES[self.name].model.opset_import
        return max((o.version for o in imports if o.domain in ("", "ai.onnx")), default=0)

    def tensors(self, _args: tuple | None = None) -> tuple[torch.Tensor, ...]:
        """Returns the recorded inputs."""
        return tuple(map(_tensor, _CASES[self.name].data_sets[0][0]))

    def dynamic_shapes(self) -> None:
        """Returns None: all sizes are static."""

    def module(self) -> OnnxModel:
        """Returns the model, which returns the recorded result."""
        case = _CASES[self.name]
        return RecordedOnnxModel(case.model, tuple(map(_tensor, case.data_sets[0][1])))

    def comparable(self, result: Any) -> Any:
        """Returns the part of a result to compare: only dtype and shape of random numbers."""
        if self.is_random:
            return pytree.tree_map_only(torch.Tensor, torch.zeros_like, result)
        return result

    @property
    def accuracy(self) -> Accuracy:
        """The required accuracy of results."""
        is_loose = self.name in _ROUNDED or _LONG_MEAN in self.name
        return _OF_PACKAGE if is_loose else _ACCURACY

    @property
    def is_random(self) -> bool:
        """Whether the outputs are random numbers."""
        model = _CASES[self.name].model
        if self.name.startswith("test_training_dropout"):
            return "zero_ratio" not in self.name
        return any(node.op_type in _RANDOM_OPERATORS for node in model.graph.node)

    def limit_on(self, _runner: str) -> Limit | None:
        """Returns None: no limits are known in advance."""


def _all_cases() -> dict[str, Any]:
    with warnings.catch_warnings():
        # NumPy warns of overflows, which some cases test.
        warnings.simplefilter("ignore")
        return {case.name: case for case in collect_testcases(None)}


# Created on import, since it takes 10 s: processes forked from one that has imported this module
# share the cases.
_CASES = _all_cases()


def _tensor(value: Any) -> torch.Tensor:
    if isinstance(value, onnx.TensorProto):
        return to_torch(onnx.numpy_helper.to_array(value))
    return to_torch(np.asarray(value))


def _kind(case: Any) -> str:
    """Returns the kind of inputs and outputs: tensors, strings, sequences or optional values."""
    graph = case.model.graph
    values = [*graph.input, *graph.output]
    kinds = {value.type.WhichOneof("value").removesuffix("_type") for value in values}
    if kinds != {"tensor"}:
        return "optional values" if "optional" in kinds else "sequences"
    strings = any(v.type.tensor_type.elem_type == onnx.TensorProto.STRING for v in values)
    return "strings" if strings else "tensors"


def onnx_cases() -> Iterator[OnnxCase]:
    """Returns all cases whose inputs and outputs are tensors, in the package's order."""
    return (OnnxCase(name) for name, case in _CASES.items() if _kind(case) == "tensors")


def left_out() -> Counter[str]:
    """Returns the number of cases left out, by the kind of their inputs and outputs."""
    kinds = Counter(map(_kind, _CASES.values()))
    del kinds["tensors"]
    return kinds
