"""Converts operands of elementwise operators to the dtype in which eager computes.

A tensor without dimensions does not widen the dtype of the other operands: eager converts it to
theirs. So `x > y` with `x` of uint8 and `y = torch.tensor(-2)` compares `x` with 254. torch-mlir,
and the repair that computes in wider integers, convert both operands to a dtype that holds all
values. The same applies to numbers in place of a tensor.

Products and quotients of f16 and bf16 are an exception. If the second operand has no dimensions,
eager does not round it, and computes in f32.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import torch
from torch._prims_common import ELEMENTWISE_TYPE_PROMOTION_KIND, elementwise_dtypes

from importers.repairs.retrace import replace_calls

aten = torch.ops.aten

_ROUNDS_ITS_RESULT_ONLY = frozenset({aten.mul.Tensor, aten.div.Tensor})
_REDUCED = (torch.float16, torch.bfloat16)


def convert_to_common_dtype(graph: torch.fx.Graph) -> int:
    """Converts operands that do not fit the common dtype; returns the number of operators."""
    nodes = [node for node in graph.nodes if _operands(node)]
    return replace_calls(graph, nodes, _converted)


def _converted(node: torch.fx.Node):
    positions, dtype = _operands(node)
    result = node.meta["val"].dtype

    def call(*args: Any, **kwargs: Any) -> torch.Tensor:
        fitting = (_of(arg, dtype) if i in positions else arg for i, arg in enumerate(args))
        return node.target(*fitting, **kwargs).to(result)

    return call


def _of(operand: torch.Tensor | int, dtype: torch.dtype) -> torch.Tensor | int:
    if isinstance(operand, torch.Tensor):
        return operand.to(dtype)
    # A number wraps to the range of the dtype, too.
    limits = torch.iinfo(dtype)
    return (operand - limits.min) % 2**limits.bits + limits.min


def _operands(node: torch.fx.Node) -> tuple[Collection[int], torch.dtype] | None:
    """Returns the positions of the operands to convert, and the dtype; None if there are none."""
    target = node.target
    if not isinstance(target, torch._ops.OpOverload) or torch.Tag.pointwise not in target.tags:
        return None
    tensors, numbers = _tensors(node), _numbers(node)
    # Of equal dtypes, or of tensors with dimensions, no operand is wider than the common dtype.
    is_mixed = len({value.dtype for value in tensors.values()}) > 1
    if not (numbers or (is_mixed and not all(value.dim() for value in tensors.values()))):
        return None
    kind = ELEMENTWISE_TYPE_PROMOTION_KIND.NO_OPMATH
    values = [*tensors.values(), *numbers.values()]
    common = elementwise_dtypes(*values, type_promotion_kind=kind)[1]
    if target in _ROUNDS_ITS_RESULT_ONLY and common in _REDUCED:
        is_number = 1 in tensors and not tensors[1].dim() and tensors[1].dtype != common
        return (tensors, torch.float32) if is_number else None
    if common.is_floating_point:
        numbers = {}
    elif node.meta["val"].dtype.is_floating_point or common == torch.bool:
        # The operator computes in floating point, from the operands' own values.
        return None
    wider = [i for i, each in tensors.items() if torch.promote_types(each.dtype, common) != common]
    wider += [i for i, number in numbers.items() if _of(number, common) != number]
    return (wider, common) if wider else None


def _tensors(node: torch.fx.Node) -> dict[int, torch.Tensor]:
    """Returns the real tensors that determine the common dtype, by their positions."""
    found = {}
    for index, argument in enumerate(node.args):
        value = argument.meta.get("val") if isinstance(argument, torch.fx.Node) else None
        is_condition = node.target == aten.where.self and index == 0
        if isinstance(value, torch.Tensor) and not (is_condition or value.is_complex()):
            found[index] = value
    return found


def _numbers(node: torch.fx.Node) -> dict[int, int]:
    """Returns the integers that are operands in place of a tensor, by their positions."""
    declared = enumerate(zip(node.args, node.target._schema.arguments, strict=False))
    return {
        index: argument
        for index, (argument, parameter) in declared
        if type(argument) is int and isinstance(parameter.type, torch.TensorType)
    }
