"""Keeps IREE's data tiling from fusing the packing of some operands into their producers.

Data tiling packs the operands of a matrix multiplication into tiles, and pads the last tile. IREE
collapses an elementwise producer of (B, M, K) to (B*M, K). Its compiler then moves the packing in
front of the expansion to (B, M, K) whenever both orders have the same number of tiles
(`bubbleUpPackOpThroughExpandShape` of MLIR's DataLayoutPropagation.cpp, up to IREE 3.13). But
the padding then follows the last matrix instead of each matrix, and all matrices but the first are
wrong. After a barrier, the packing reads its operand from memory and cannot move to a producer.
"""

from __future__ import annotations

from torch_mlir import ir

from pipelines.ir.lazy_dialects import linalg
from pipelines.ir.modules import find_operations
from pipelines.ir.values import producer
from pipelines.iree.barriers import barrier
from pipelines.pipeline import Step

# Sizes of tiles of IREE's CPU targets. Without padding, or where padding adds a whole tile for the
# matrices together, the compiler's rewrite is right or does not apply.
_TILES = (4, 8, 16, 32, 64)


def separate_packing(module: ir.Module) -> None:
    """Puts a barrier before each operand whose packing IREE could compute wrongly.

    Rewrites a module at `linalg` in place. An argument of a function has no producer, so it needs
    no barrier.
    """
    with module.context:
        for product in find_operations(module, _is_batch_product):
            for index in range(2):
                if _may_be_wrong(product.operands[index]):
                    _separate(product, index)


def _is_batch_product(operation: ir.Operation) -> bool:
    if operation.name == "linalg.quantized_batch_matmul":
        # IREE lowers it to a product without zero points, and corrections.
        return True
    return (
        operation.name.startswith("linalg.")
        and linalg.isa_contraction_op(operation)
        and bool(linalg.infer_contraction_dimensions(operation).batch)
    )


def _may_be_wrong(operand: ir.Value) -> bool:
    """Returns whether, for some tile size, the padding of several matrices fits into one tile."""
    shape = ir.RankedTensorType(operand.type).shape
    outer = 1
    for size in shape:
        matrices = _smallest_factor(outer)
        if matrices > 1 and any(0 < matrices * (-size % tile) < tile for tile in _TILES):
            return True
        outer *= size
    return False


def _smallest_factor(number: int) -> int:
    """Returns the smallest factor above 1; the number itself if it is below 2.

    IREE may collapse only some of the outer dimensions, so any factor may be their number.
    """
    return next((n for n in range(2, number) if number % n == 0), number)


def _separate(product: ir.Operation, index: int) -> None:
    """Puts a barrier before an operand, or before the transposition of its matrices.

    IREE fuses a transposition of the last two dimensions into the packing.
    """
    user, value = product, product.operands[index]
    operation = producer(value)
    if operation is not None and _swaps_rows_and_columns(operation):
        user, index = operation, 0
        value = operation.operands[0]
    if producer(value) is None:
        return
    with ir.InsertionPoint(user), user.location:
        user.operands[index] = barrier(value)


def _swaps_rows_and_columns(operation: ir.Operation) -> bool:
    if operation.name != "linalg.transpose":
        return False
    order = list(operation.attributes["permutation"])
    return order == [*range(len(order) - 2), len(order) - 1, len(order) - 2]


SEPARATE_PACKING = Step(
    "iree-separate-packing",
    "put barriers before operands whose packing IREE may compute wrongly",
    separate_packing,
)
