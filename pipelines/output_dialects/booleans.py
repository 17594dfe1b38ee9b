"""Rewrites sums and orders of booleans, for TOSA and StableHLO.

- The sum of booleans is `or`. torch-mlir emits `xor`, or an addition that TOSA does not have.
- TOSA does not order booleans. StableHLO has no number below False or above True that a maximum
  or minimum could start with, and torch-mlir starts with True or False.
"""

from __future__ import annotations

from torch_mlir import ir

from pipelines.ir.modules import build_op
from pipelines.ir.torch_expressions import cast
from pipelines.ir.torch_operations import element_of, rewrite, shape_of

# Integers of this type order like booleans.
_INTEGER = "si32"
_EXTREMES = ("torch.aten.max", "torch.aten.min", "torch.aten.max.dim", "torch.aten.min.dim")


# By operator: the place of the operand that is negated, and how the two are combined.
_LOGICAL = {
    "torch.aten.add.Tensor": (None, "or"),
    "torch.aten.maximum": (None, "or"),
    "torch.aten.minimum": (None, "and"),
    "torch.aten.ge.Tensor": (1, "or"),
    "torch.aten.le.Tensor": (0, "or"),
    "torch.aten.gt.Tensor": (1, "and"),
    "torch.aten.lt.Tensor": (0, "and"),
}


def rewrite_booleans(module: ir.Module) -> None:
    """Rewrites operators on booleans in a module at `torch`."""
    rewrite(
        module,
        {
            **dict.fromkeys(_LOGICAL, _combined),
            **dict.fromkeys(_EXTREMES, _extreme),
            **{f"torch.aten.{order}.Scalar": _comparison for order in ("ge", "le", "gt", "lt")},
        },
    )


def _combined(operation: ir.Operation) -> ir.Value | None:
    """Computes a sum, an extreme or an order of two tensors by a logical operator."""
    operands = list(operation.operands)[:2]
    result = operation.results[0]
    if not _are_booleans(*operands, result):
        return None
    negated, combination = _LOGICAL[operation.name]
    if negated is not None:
        x = operands[negated]
        operands[negated] = build_op("torch.aten.logical_not", x.type, x)
    return build_op(f"torch.aten.logical_{combination}", result.type, *operands)


def _extreme(operation: ir.Operation) -> list[ir.Value] | None:
    """Computes a maximum or minimum, and its index if there is one, of integers."""
    x, *others = operation.operands
    if not _are_booleans(x):
        return None
    kind, *places = (result.type for result in operation.results)
    wide = ir.Type.parse(f"{shape_of(kind)},{_INTEGER}>")
    operands = [cast(x, _INTEGER), *others]
    number, *found = ir.Operation.create(operation.name, [wide, *places], operands).results
    return [cast(number, "i1"), *found]


def _comparison(operation: ir.Operation) -> None:
    """Compares integers with the number."""
    x = operation.operands[0]
    if _are_booleans(x):
        operation.operands[0] = cast(x, _INTEGER)


def _are_booleans(*values: ir.Value) -> bool:
    return all(element_of(value.type) == "i1" for value in values)
