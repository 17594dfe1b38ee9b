"""Cuts off the part of an image that no window of a pooling or convolution reaches.

With `ceil_mode`, and for some strides, an image is larger than its windows reach. IREE drops axes
of size 1 of the result together with their loops. It then takes the whole image for the one window
that is left, and rejects the program, because the sizes differ.
"""

from __future__ import annotations

from torch_mlir import ir

from pipelines.ir.lazy_dialects import linalg
from pipelines.ir.modules import find_operations
from pipelines.ir.tensor_ops import sizes_of, sliced
from pipelines.pipeline import Step


def crop_to_windows(module: ir.Module) -> None:
    """Slices images along axes that have only one window. Rewrites `linalg` in place."""
    with module.context:
        for operation in find_operations(module, _has_windows):
            with ir.InsertionPoint(operation), operation.location:
                _cut(operation)


def _has_windows(operation: ir.Operation) -> bool:
    return operation.name.startswith("linalg.") and any(
        isinstance(expression, ir.AffineAddExpr)
        for indexing in _maps(operation)
        for expression in indexing.results
    )


def _maps(operation: ir.Operation) -> list[ir.AffineMap]:
    """Returns the indexing map of each operand; none if the operation is not structured."""
    maps = linalg.get_indexing_maps(operation)
    return [] if maps is None else [ir.AffineMapAttr(each).value for each in maps]


def _cut(operation: ir.Operation) -> None:
    maps = _maps(operation)
    loops = _loop_sizes(operation, maps)
    for index, indexing in enumerate(maps):
        image = operation.operands[index]
        if not isinstance(image.type, ir.RankedTensorType):
            continue
        sizes = sizes_of(image)
        for axis, expression in enumerate(indexing.results):
            reach = _reach(expression, loops)
            if reach is not None and 1 in (loops.get(each) for each in _dims(expression)):
                sizes[axis] = reach
        operation.operands[index] = sliced(image, sizes, [1] * len(sizes))


def _loop_sizes(operation: ir.Operation, maps: list[ir.AffineMap]) -> dict[int, int]:
    """Returns the static sizes of loops by their number."""
    found = {}
    for operand, indexing in zip(operation.operands, maps, strict=True):
        for axis, expression in enumerate(indexing.results):
            if isinstance(expression, ir.AffineDimExpr):
                shape = ir.ShapedType(operand.type)
                if not shape.is_dynamic_dim(axis):
                    found[expression.position] = shape.get_dim_size(axis)
    return found


def _reach(expression: ir.AffineExpr, loops: dict[int, int]) -> int | None:
    """Returns how many elements a sum of loop multiples reaches; None if unknown or no sum."""
    if not isinstance(expression, ir.AffineAddExpr):
        return None
    last = _last(expression, loops)
    return None if last is None else last + 1


def _last(expression: ir.AffineExpr, loops: dict[int, int]) -> int | None:
    if isinstance(expression, ir.AffineConstantExpr):
        return expression.value
    if isinstance(expression, ir.AffineDimExpr):
        size = loops.get(expression.position)
        return None if not size else size - 1
    if not isinstance(expression, (ir.AffineAddExpr, ir.AffineMulExpr)):
        return None
    left, right = _last(expression.lhs, loops), _last(expression.rhs, loops)
    if left is None or right is None:
        return None
    return left + right if isinstance(expression, ir.AffineAddExpr) else left * right


def _dims(expression: ir.AffineExpr) -> list[int]:
    if isinstance(expression, ir.AffineDimExpr):
        return [expression.position]
    if isinstance(expression, (ir.AffineAddExpr, ir.AffineMulExpr)):
        return _dims(expression.lhs) + _dims(expression.rhs)
    return []


CROP_TO_WINDOWS = Step(
    "iree-cut-to-reach",
    "slice images along axes that have only one window",
    crop_to_windows,
)
