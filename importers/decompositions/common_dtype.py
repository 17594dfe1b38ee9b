"""Finds the operands of elementwise operators that eager converts to another dtype.

A tensor without dimensions does not widen the dtype of the other operands: eager converts it to
theirs. So `x > y` with `x` of uint8 and `y = torch.tensor(-2)` compares `x` with 254, and
`torch.atan2(x, y)` with `x` of f16 rounds `y` to f16. The same applies to numbers in place of a
tensor. torch-mlir and PyTorch's decompositions compute in a dtype that holds all values.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch._ops import OpOverload
from torch._prims_common import ELEMENTWISE_TYPE_PROMOTION_KIND, elementwise_dtypes

from importers.decompositions.numbers import REDUCED_FLOATS, is_changed

aten = torch.ops.aten

# The name of the repair, and of the decompositions that convert operands.
CONVERSION = "operands in the common dtype"

# Products and quotients of f16 and bf16 are an exception. If the second operand is a number or has
# no dimensions, eager does not round it, and computes in f32.
_ROUNDS_ITS_RESULT_ONLY = frozenset(
    {
        *(aten.mul.Tensor, aten.mul.Scalar, aten.div.Tensor, aten.div.Scalar),
        *(aten.true_divide.Tensor, aten.div.Tensor_mode, aten.div.Scalar_mode),
    }
)
# These operators call others with their operands as they are.
_CALL_OTHERS = frozenset({aten.ldexp.Tensor, aten.float_power.Tensor_Tensor})


@dataclass(frozen=True)
class Conversion:
    """The conversion of some operands to a dtype.

    Attributes:
        positions: the positions of these operands among the arguments.
        dtype: the dtype that they get.
    """

    positions: Collection[int]
    dtype: torch.dtype

    def apply(self, args: Sequence[Any]) -> list[Any]:
        """Returns the arguments with the operands converted."""
        return [
            _of(argument, self.dtype) if index in self.positions else argument
            for index, argument in enumerate(args)
        ]


def takes_common_dtype(operator: Any) -> bool:
    """Returns whether eager converts the operands of an operator before it computes."""
    excluded = operator in _ROUNDS_ITS_RESULT_ONLY or operator in _CALL_OTHERS
    return _is_elementwise(operator) and not excluded


def in_common_dtype(operator: OpOverload, function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a decomposition that converts the operands as eager does, then calls `function`.

    It returns NotImplemented if no operand needs a conversion to a floating dtype. Whether eager
    converts integers depends on the dtype of the result: some operators compute integers in
    floating point.
    """

    @functools.wraps(function)
    def converting(*args: Any, **kwargs: Any) -> Any:
        conversion = conversion_of(operator, args)
        if conversion is None or not conversion.dtype.is_floating_point:
            return NotImplemented
        return function(*conversion.apply(args), **kwargs)

    return converting


def conversion_of(operator: Any, args: Sequence[Any]) -> Conversion | None:
    """Returns the conversion that eager does for a call; None if there is none."""
    if not _is_elementwise(operator):
        return None
    tensors, numbers = _tensors(args), _numbers(operator, args)
    if operator in _ROUNDS_ITS_RESULT_ONLY and tensors:
        dtype = _common_dtype(tensors.values())
        if dtype in REDUCED_FLOATS:
            return Conversion(tensors, torch.float32) if _is_rounded(args[1], dtype) else None
    # Of equal dtypes, no operand is wider than the common dtype.
    if not numbers and len({value.dtype for value in tensors.values()}) <= 1:
        return None
    common = _common_dtype([*tensors.values(), *numbers.values()])
    if common == torch.bool:
        # The operator computes in another dtype, from the operands' own values.
        return None
    if common.is_floating_point:
        others = [i for i, each in tensors.items() if each.dtype != common]
    else:
        others = [i for i, x in tensors.items() if torch.promote_types(x.dtype, common) != common]
        others += [i for i, number in numbers.items() if _of(number, common) != number]
    return Conversion(others, common) if others else None


def _is_elementwise(operator: Any) -> bool:
    return isinstance(operator, OpOverload) and torch.Tag.pointwise in operator.tags


def _common_dtype(operands: Collection[torch.Tensor | int]) -> torch.dtype:
    kind = ELEMENTWISE_TYPE_PROMOTION_KIND.NO_OPMATH
    return elementwise_dtypes(*operands, type_promotion_kind=kind)[1]


def _is_rounded(operand: Any, dtype: torch.dtype) -> bool:
    """Returns whether a conversion to a floating dtype changes a number, or may change a tensor."""
    if isinstance(operand, torch.Tensor):
        return not operand.dim() and operand.dtype != dtype
    return is_changed(operand, dtype)


def _of(operand: torch.Tensor | int, dtype: torch.dtype) -> torch.Tensor | int:
    if isinstance(operand, torch.Tensor):
        return operand.to(dtype)
    # A number wraps to the range of the dtype, too.
    limits = torch.iinfo(dtype)
    return (operand - limits.min) % 2**limits.bits + limits.min


def _tensors(args: Sequence[Any]) -> dict[int, torch.Tensor]:
    """Returns the real tensors among the arguments, by their positions.

    Booleans are left out: they never determine the dtype, and may be a condition.
    """
    return {
        index: value
        for index, value in enumerate(args)
        if isinstance(value, torch.Tensor) and not (value.is_complex() or value.dtype == torch.bool)
    }


def _numbers(operator: OpOverload, args: Sequence[Any]) -> dict[int, int]:
    """Returns the integers that are operands in place of a tensor, by their positions."""
    declared = enumerate(zip(args, operator._schema.arguments, strict=False))
    return {
        index: argument
        for index, (argument, parameter) in declared
        if type(argument) is int and isinstance(parameter.type, torch.TensorType)
    }
