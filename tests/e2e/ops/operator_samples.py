"""Calls from PyTorch's own operator tests (`op_db`), as cases that are compared with eager.

Each entry of `op_db` generates samples, that is arguments, for each dtype. They depend on the
random state, which is set here.
"""

from __future__ import annotations

import copy
import functools
import itertools
import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy
import torch
from torch.testing._internal import common_methods_invocations
from torch.testing._internal.opinfo.core import OpInfo, SampleInput
from torch.utils import _pytree as pytree

from importers.recipes.limits import Limit
from unmess.conformance.operators.case import Accuracy
from unmess.conformance.operators.tensors import DTYPES

# All samples of the main dtype are used, and a few of each further dtype.
MAIN_DTYPE = "f32"
FURTHER_DTYPES = ("f64", "bf16", "i64", "u8", "bool", "c64")
FURTHER_SAMPLES = 5
# The known limits of the samples that the tests run. `./pixiw run operator-samples` writes
# the file.
LIMITS_FILE = Path(__file__).with_name("operator_sample_limits.yaml")
_EVERY = 8
# Larger than for the table of operators: samples are chosen for tests of gradients, and some are
# badly conditioned. The float64 result shows the error of eager itself.
_ACCURACY = Accuracy(16, "worst", signed_zeros=False)
_RANDOM = Accuracy(0, samples=True)
# Decompositions whose singular vectors have arbitrary signs. Their samples do not remove the signs
# from the results.
_LOW_RANK = ("pca_lowrank", "svd_lowrank")
_SEEDS = range(16)
# Operators that return uninitialized memory.
_UNDEFINED = re.compile(r"(new_)?empty(_.*)?|resize_.*")

_WITH_FLOAT64 = ("f32", "bf16", "c64")
# Other dtypes have no result of higher precision that would show eager's own error.
_WITHOUT_FLOAT64 = replace(_ACCURACY, of_largest=16)
# PyTorch 2.13's matrix exponential of bf16 is NaN or random numbers, also of small matrices.
_WRONG_IN_EAGER = {("matrix_exp", "bf16")}
# Operators whose f32 errors are relative to the largest element. Eager computes cumsum in f64;
# elsewhere, each partial result is rounded. Eager computes linspace in steps from its ends, and the
# number of steps depends on the vectors of the processor.
_RELATIVE_TO_LARGEST = ("cumsum", "linspace", "linspace.tensor_overload")
_OF_LARGEST = replace(_ACCURACY, of_largest=1)
# Operators that may return the index of any of several equal elements: their arguments by position.
_ANY_PLACE = {
    "kthvalue": ("k", "dim", "keepdim"),
    **dict.fromkeys(("median", "mode", "nanmedian"), ("dim", "keepdim")),
    "topk": ("k", "dim"),
    **dict.fromkeys(("sort", "argsort"), ("dim", "descending", "stable")),
}

OPERATORS: dict[str, OpInfo] = {info.full_name: info for info in common_methods_invocations.op_db}


def _unseeded(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    return function(*args, **kwargs)


# PyTorch's samples of random operators set a seed inside the call. A captured program cannot do
# this.
common_methods_invocations.wrapper_set_seed = _unseeded


@dataclass(frozen=True)
class OperatorSample:
    """A call of an operator with arguments that PyTorch's own tests use.

    It has the attributes that `unmess.conformance.operators` needs.

    Attributes:
        operator: the name in `op_db`, with the variant.
        dtype: the short name, as in the table of operators.
        number: the index among the samples that `op_db` generates for the dtype.
    """

    operator: str
    dtype: str
    number: int
    calls = ()

    def __str__(self) -> str:
        return f"{self.operator} {self.dtype} {self.number}"

    @classmethod
    def named(cls, name: str) -> OperatorSample:
        """Returns the sample whose text is `name`."""
        operator, dtype, number = name.rsplit(" ", 2)
        return cls(operator, dtype, int(number))

    @property
    def _sample(self) -> SampleInput:
        return _samples(self.operator, self.dtype)[self.number]

    def _arguments(self) -> tuple[list[Any], pytree.TreeSpec]:
        sample = self._sample
        return pytree.tree_flatten(((sample.input, *sample.args), sample.kwargs))

    def tensors(self, _args: tuple | None = None) -> tuple[torch.Tensor, ...]:
        """Returns the arguments of the captured module."""
        leaves, _ = self._arguments()
        return tuple(leaf for leaf in leaves if isinstance(leaf, torch.Tensor))

    def dynamic_shapes(self) -> None:
        """Returns None: all sizes are static."""

    def module(self) -> torch.nn.Module:
        """Returns the call as a module that takes its tensors."""
        return _Call(OPERATORS[self.operator].op, *self._arguments()).eval()

    def comparable(self, result: Any) -> Any:
        """Returns the defined part: no signs of singular vectors, no uninitialized memory.

        Sparse tensors become dense ones.
        """
        result = pytree.tree_map_only(torch.Tensor, _dense, result)
        if _UNDEFINED.fullmatch(self.operator):
            return pytree.tree_map_only(torch.Tensor, torch.zeros_like, result)
        if self.operator in _LOW_RANK:
            left, values, right = result
            return left @ right.mH, values
        result = self._sample.output_process_fn_grad(result)
        return self._with_elements(result) if self.operator in _ANY_PLACE else result

    def _with_elements(self, result: Any) -> Any:
        """Replaces indices by the elements at them: any of several equal elements may be chosen."""
        x = self._sample.input
        names = _ANY_PLACE[self.operator]
        given = {**dict(zip(names, self._sample.args, strict=False)), **self._sample.kwargs}
        is_index = self.operator == "argsort"
        if (isinstance(result, torch.Tensor) and not is_index) or given.get("stable"):
            return result
        places = result if is_index else result.indices
        if not x.dim():
            return result if is_index else (result.values, places)
        dim = given.get("dim", -1)
        places = places if places.dim() == x.dim() else places.unsqueeze(dim)
        elements = x.gather(dim, places)
        return elements if is_index else (result.values, elements)

    @functools.cached_property
    def accuracy(self) -> Accuracy:
        """The required accuracy. Results are random if they differ between seeds in eager."""
        if _UNDEFINED.fullmatch(self.operator):
            return _ACCURACY
        module, results = self.module(), []
        for seed in _SEEDS:
            torch.manual_seed(seed)
            # A deep copy of a view keeps the memory around it, unlike a clone. Sparse tensors have
            # no such memory.
            arguments = [
                copy.deepcopy(x) if x.layout == torch.strided else x.clone() for x in self.tensors()
            ]
            result = pytree.tree_map_only(torch.Tensor, _dense, module(*arguments))
            results.append(pytree.tree_leaves(result))
        same = all(map(_equal, itertools.repeat(results[0]), results[1:]))
        if not same:
            return _RANDOM
        if self.operator in _RELATIVE_TO_LARGEST and self.dtype == MAIN_DTYPE:
            return _OF_LARGEST
        return _ACCURACY if self.dtype in _WITH_FLOAT64 else _WITHOUT_FLOAT64

    def limit_on(self, _runner: str) -> Limit | None:
        """Returns None: no limits are known in advance."""


class _Call(torch.nn.Module):
    def __init__(self, function: Callable[..., Any], leaves: list[Any], spec: pytree.TreeSpec):
        super().__init__()
        self.function = function
        # The module stores no tensors. `forward` takes them.
        self.leaves = tuple(None if isinstance(x, torch.Tensor) else x for x in leaves)
        self.given = tuple(isinstance(x, torch.Tensor) for x in leaves)
        self.spec = spec

    def forward(self, *tensors):
        values = iter(tensors)
        leaves = [
            next(values) if given else leaf
            for given, leaf in zip(self.given, self.leaves, strict=True)
        ]
        args, kwargs = pytree.tree_unflatten(leaves, self.spec)
        return self.function(*args, **kwargs)


def dtypes_of(operator: str) -> list[str]:
    """Returns the dtypes to test that the operator supports on the CPU."""
    taken = OPERATORS[operator].dtypes
    return [
        name
        for name in (MAIN_DTYPE, *FURTHER_DTYPES)
        if DTYPES[name] in taken and (operator, name) not in _WRONG_IN_EAGER
    ]


def samples_of(operator: str, dtype: str, count: int | None = None) -> list[OperatorSample]:
    """Returns the samples of an operator, or `count` evenly spaced ones from first to last.

    Leaves out samples without a defined result.
    """
    samples = _samples(operator, dtype)
    total = len(samples)
    if dtype != MAIN_DTYPE:
        count = min(FURTHER_SAMPLES, count or FURTHER_SAMPLES)
    if count is None or total <= count:
        numbers = range(total)
    else:
        numbers = sorted({round(i * (total - 1) / max(count - 1, 1)) for i in range(count)})
    return [
        OperatorSample(operator, dtype, number)
        for number in numbers
        if operator != "histogramdd" or _has_ascending_edges(samples[number])
    ]


def _has_ascending_edges(sample: SampleInput) -> bool:
    """Returns whether all bin edges ascend. For others, eager's search has no defined result."""
    edges = [each for each in sample.args[0] if isinstance(each, torch.Tensor)]
    return all(torch.equal(each, each.sort().values) for each in edges)


def tested_samples() -> list[OperatorSample]:
    """Returns the samples that the tests run: the first float32 one of every eighth operator."""
    operators = [name for name in OPERATORS if MAIN_DTYPE in dtypes_of(name)]
    return [OperatorSample(name, MAIN_DTYPE, 0) for name in operators[::_EVERY]]


@functools.lru_cache(maxsize=64)
def _samples(operator: str, dtype: str) -> list[SampleInput]:
    return list(_drawn(OPERATORS[operator], DTYPES[dtype]))


def _drawn(info: OpInfo, dtype: torch.dtype) -> Iterator[SampleInput]:
    torch.manual_seed(0)
    random.seed(0)
    numpy.random.seed(0)
    yield from info.sample_inputs("cpu", dtype)


def _dense(x: torch.Tensor) -> torch.Tensor:
    return x if x.layout == torch.strided else x.to_dense()


def _close(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Returns whether tensors are equal but for rounding, which may depend on their address."""
    if a.shape != b.shape or not (a.is_floating_point() or a.is_complex()):
        return torch.equal(a, b)
    return torch.allclose(a, b, rtol=1e-3, atol=1e-4, equal_nan=True)


def _equal(some: list[Any], others: list[Any]) -> bool:
    return len(some) == len(others) and all(
        _close(_numbers(a), _numbers(b))
        if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor)
        else a is b or a == b or (a != a and b != b)
        for a, b in zip(some, others, strict=True)
    )


def _numbers(x: torch.Tensor) -> torch.Tensor:
    # Few operators support complex32.
    return (x.to(torch.complex64) if x.dtype == torch.complex32 else x).nan_to_num()
