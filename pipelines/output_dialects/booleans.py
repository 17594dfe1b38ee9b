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


def rewrite_booleans(module: ir.Module) -> None:
    """Rewrites operators on booleans in a module at `torch`."""
    rewrite(
        module,
        {
            "torch.aten.add.Tensor": _sum,
            "torch.aten.maximum": _maximum,
            "torch.aten.minimum": _minimum,
            "torch.aten.ge.Tensor": _at_least,
            "torch.aten.le.Tensor": _at_most,
            "torch.aten.gt.Tensor": _above,
            "torch.aten.lt.Tensor": _below,
            **dict.fromkeys(_EXTREMES, _extreme),
            **{f"torch.aten.{order}.Scalar": _comparison for order in ("ge", "le", "gt", "lt")},
        },
    )


def _sum(operation: ir.Operation) -> ir.Value | None:
    return _maximum(operation) if element_of(operation.results[0].type) == "i1" else None


def _maximum(operation: ir.Operation) -> ir.Value | None:
    x, y = list(operation.operands)[:2]
    return _either(operation, x, y) if _are_booleans(x, y) else None


def _minimum(operation: ir.Operation) -> ir.Value | None:
    x, y = operation.operands
    return _both(operation, x, y) if _are_booleans(x, y) else None


def _at_least(operation: ir.Operation) -> ir.Value | None:
    x, y = operation.operands
    return _either(operation, x, _not(y)) if _are_booleans(x, y) else None


def _at_most(operation: ir.Operation) -> ir.Value | None:
    x, y = operation.operands
    return _either(operation, _not(x), y) if _are_booleans(x, y) else None


def _above(operation: ir.Operation) -> ir.Value | None:
    x, y = operation.operands
    return _both(operation, x, _not(y)) if _are_booleans(x, y) else None


def _below(operation: ir.Operation) -> ir.Value | None:
    x, y = operation.operands
    return _both(operation, _not(x), y) if _are_booleans(x, y) else None


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


def _not(x: ir.Value) -> ir.Value:
    return build_op("torch.aten.logical_not", x.type, x)


def _either(operation: ir.Operation, x: ir.Value, y: ir.Value) -> ir.Value:
    return build_op("torch.aten.logical_or", operation.results[0].type, x, y)


def _both(operation: ir.Operation, x: ir.Value, y: ir.Value) -> ir.Value:
    return build_op("torch.aten.logical_and", operation.results[0].type, x, y)
