"""Checks what a backend's function returns, and converts it to the signature's tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from pipelines.backends.backend import Backend, Function
from unmess.core.errors.error import Error, first_line
from unmess.core.program.weights import row_major
from unmess.core.signature.signature import ScalarSpec, Signature, TensorSpec
from unmess.core.signature.torch_signature import tensor_misfit

GARBAGE = "garbage output: "
# Dtypes that some backends return instead of bool, with the values 0 and 1.
_BYTES = (torch.int8, torch.uint8)


def checked(backend: Backend, function: Function, signature: Signature) -> Callable[..., list[Any]]:
    """Returns a function that takes torch tensors and numbers, and returns those of the signature.

    It raises an Error (`run`) if the backend's function fails, or returns another number of
    results, another dtype or another shape. The cause then begins with `garbage output`.
    """
    arrays = backend.input.tensors == "numpy"

    def call(*arguments: Any) -> list[Any]:
        given = [to_array(each) for each in arguments] if arrays else arguments
        try:
            results = function(*given)
        except Error:
            raise
        except Exception as problem:
            raise Error(
                "run",
                f"{backend.name} fails: {first_line(problem)}",
                hint="the exception comes from the backend; --debug shows the traceback",
            ) from problem
        # The caller owns the results. A function may return views of its arguments, or memory that
        # its next call writes.
        return [
            each.clone() if isinstance(each, torch.Tensor) else each
            for each in checked_results(results, signature)
        ]

    return call


def checked_results(results: Any, signature: Signature) -> list[Any]:
    """Returns the results of a call as tensors and numbers of the signature.

    Raises:
        Error: stage `run`, with a cause that begins with `garbage output`.
    """
    expected = signature.results
    if results is None and not expected:
        return []
    if len(expected) == 1 and not isinstance(results, (tuple, list)):
        results = [results]
    if not isinstance(results, Sequence):
        raise _garbage(f"a {type(results).__name__} in place of {len(expected)} results")
    if len(results) != len(expected):
        raise _garbage(f"{len(results)} results, the program has {len(expected)}")
    return [
        _result(f"result {number}", one.spec, value)
        for number, (one, value) in enumerate(zip(expected, results, strict=True))
    ]


def _result(name: str, spec: TensorSpec | ScalarSpec, value: Any) -> Any:
    if isinstance(spec, ScalarSpec):
        return _number(name, spec, value)
    if isinstance(value, (np.ndarray, np.generic)):
        value = to_tensor(np.asarray(value), spec.dtype)
    if isinstance(value, torch.Tensor):
        value = value.detach()
        if spec.dtype == torch.bool and value.dtype in _BYTES:
            value = value.ne(0)
    shape = TensorSpec(spec.shape, spec.dtype)
    if problem := tensor_misfit(name, shape, value):
        raise _garbage(problem)
    return row_major(value)


def _number(name: str, spec: ScalarSpec, value: Any) -> Any:
    if isinstance(value, (np.ndarray, np.generic, torch.Tensor)):
        if len(value.shape) or (isinstance(value, torch.Tensor) and value.numel() != 1):
            raise _garbage(f"{name} has shape {tuple(value.shape)}, expected a number ({spec})")
        value = value.item()
    fits = isinstance(value, (int, float)) if spec.type is float else isinstance(value, int)
    if not fits:
        raise _garbage(f"{name} is a {type(value).__name__}, expected a number ({spec})")
    return spec.type(value)


def to_array(value: Any) -> Any:
    """Returns a tensor as an array that shares its memory; bfloat16 as uint16 with the same bits.

    Returns numbers as they are.
    """
    if not isinstance(value, torch.Tensor):
        return value
    if value.dtype == torch.bfloat16:
        return value.view(torch.uint16).numpy()
    return value.numpy()


def to_tensor(array: np.ndarray, dtype: torch.dtype) -> Any:
    """Returns an array as a tensor; arrays of 16-bit integers as bfloat16 if `dtype` is that.

    An array that PyTorch has no dtype for is returned as it is.
    """
    if not array.flags.writeable or any(stride < 0 for stride in array.strides):
        array = array.copy()
    try:
        tensor = torch.from_numpy(array.astype(array.dtype.newbyteorder("="), copy=False))
    except TypeError:
        return array
    if dtype == torch.bfloat16 and tensor.dtype in (torch.uint16, torch.int16):
        return tensor.view(torch.bfloat16)
    return tensor


def _garbage(problem: str) -> Error:
    return Error(
        "run",
        f"{GARBAGE}{problem}",
        hint="a backend returns the results of the entry function in order",
    )
