"""Keeps IREE's data tiling from unpacking several results of one kernel.

Data tiling computes a matrix product in tiles. IREE fuses elementwise operations behind the product
into its kernel, which unpacks each of their results. If there are several results, and the depth of
the product is small, the compiler does not tile all of the unpacking, and fails: "One or more
operations with large vector sizes (32768 bytes) were found". The gradients of weights with a small
batch are such products: a training step with momentum returns the gradient's new mean, and the new
weight.
"""

from __future__ import annotations

from math import prod

from torch_mlir import ir

from pipelines.ir.lazy_dialects import linalg
from pipelines.ir.modules import find_operations
from pipelines.ir.scalars import is_elementwise
from pipelines.ir.tensor_ops import RESHAPES
from pipelines.iree.barriers import behind_barrier
from pipelines.pipeline import Step

# Measured with IREE 3.13 on Zen 4: a depth of 512 compiles, and one of 256 does not. Matrices of
# 160x256 elements compile, and those of 128x512 do not.
_DEEP, _LARGE = 512, 40_960


def separate_unpacking(module: ir.Module) -> None:
    """Puts a barrier behind each product whose elementwise users have several results.

    Rewrites a module at `linalg` in place.
    """
    with module.context:
        for product in find_operations(module, _is_shallow_product):
            result = product.results[0]
            if len(_fused_results(result)) > 1:
                with ir.InsertionPoint.after(product), product.location:
                    kept = behind_barrier(result)
                result.replace_all_uses_except(kept, kept.owner.operation)


def _is_shallow_product(operation: ir.Operation) -> bool:
    """Returns whether an operation is a product of small depth, with a large result."""
    is_product = operation.name.startswith("linalg.") and linalg.isa_contraction_op(operation)
    if not is_product or not ir.RankedTensorType(operation.results[0].type).has_static_shape:
        return False
    axes = linalg.infer_contraction_dimensions(operation)
    left = ir.AffineMapAttr(next(iter(linalg.get_indexing_maps(operation)))).value
    sizes = ir.RankedTensorType(operation.operands[0].type).shape
    depth = prod(
        size
        for expression, size in zip(left.results, sizes, strict=True)
        if ir.AffineDimExpr(expression).position in list(axes.k)
    )
    result = ir.RankedTensorType(operation.results[0].type).shape
    elements = prod(size for axis, size in enumerate(result) if axis not in list(axes.batch))
    return len(axes.m) > 0 and len(axes.n) > 0 and depth < _DEEP and elements > _LARGE


def _fused_results(value: ir.Value) -> list[ir.Value]:
    """Returns the results that IREE may compute from a value in the kernel that computes it.

    They are results of elementwise operations that other operations read, too.
    """
    found: list[ir.Value] = []
    pending, seen = [value], {value}
    while pending:
        current = pending.pop()
        readers = _readers(current)
        elementwise = [reader.result for reader in readers if is_elementwise(reader)]
        if len(elementwise) < len(readers) and current != value:
            found.append(current)
        pending += [result for result in elementwise if result not in seen]
        seen.update(elementwise)
    return found


def _readers(value: ir.Value) -> list[ir.Operation]:
    """Returns the operations that read a value, or a reshape of it."""
    users = [use.owner.operation for use in value.uses]
    return [
        reader
        for user in users
        for reader in (_readers(user.result) if user.name in RESHAPES else [user])
    ]


SEPARATE_UNPACKING = Step(
    "iree-separate-unpacking",
    "put barriers behind shallow products with several elementwise results; IREE does not tile the "
    "unpacking of them",
    separate_unpacking,
)
