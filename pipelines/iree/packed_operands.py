"""Keeps IREE's data tiling from fusing the packing of some operands into other kernels.

Data tiling packs the operands of a matrix multiplication into tiles, and pads the last tile. After
a barrier, the packing reads its operand from memory and cannot move. It needs one in two cases.

IREE fuses a slice that is not contiguous, such as `x[:, 0]` or a chunk of columns, into the kernel
of the product, which then packs the slice itself. The compiler does not tile the packing there,
and fails: "One or more operations with large vector sizes (32768 bytes) were found", or "exceeded
stack allocation limit".

IREE collapses an elementwise producer of (B, M, K) to (B*M, K). Its compiler then moves the packing
in front of the expansion to (B, M, K) whenever both orders have the same number of tiles
(`bubbleUpPackOpThroughExpandShape` of MLIR's DataLayoutPropagation.cpp, up to IREE 3.13). But the
padding then follows the last matrix instead of each matrix, and all matrices but the first are
wrong.
"""

from __future__ import annotations

from torch_mlir import ir

from pipelines.ir.lazy_dialects import linalg
from pipelines.ir.modules import find_operations
from pipelines.ir.tensor_ops import RESHAPES
from pipelines.ir.values import producer
from pipelines.iree.barriers import barrier
from pipelines.iree.load_time import values_at_load
from pipelines.pipeline import Step

# Sizes of tiles of IREE's CPU targets. Without padding, or where padding adds a whole tile for the
# matrices together, the compiler's rewrite is right or does not apply.
_TILES = (4, 8, 16, 32, 64)


def separate_packing(module: ir.Module) -> None:
    """Puts a barrier before each operand whose packing IREE compiles wrongly, or not at all.

    Rewrites a module at `linalg` in place. An argument of a function has no producer, so it needs
    no barrier.
    """
    with module.context:
        for product in find_operations(module, _is_batch_product):
            for index in range(2):
                if _may_be_wrong(product.operands[index]):
                    _separate(product, index)
        at_load = values_at_load(module)
        for operation in find_operations(module, _packed):
            for operand in _packed(operation):
                if operand not in at_load:
                    _store_slice(operand)


def _is_batch_product(operation: ir.Operation) -> bool:
    if operation.name == "linalg.quantized_batch_matmul":
        # IREE lowers it to a product without zero points, and corrections.
        return True
    return (
        operation.name.startswith("linalg.")
        and linalg.isa_contraction_op(operation)
        and bool(linalg.infer_contraction_dimensions(operation).batch)
    )


def _packed(operation: ir.Operation) -> list[ir.Value]:
    """Returns the operands that IREE packs, if it does not compile the packing of a slice."""
    if operation.name == "linalg.conv_2d_nhwc_hwcf":
        weight = operation.operands[1]
        return [weight] if ir.RankedTensorType(weight.type).shape[:2] == [1, 1] else []
    if not operation.name.startswith("linalg.") or not linalg.isa_contraction_op(operation):
        return []
    return list(operation.operands)[:2]


def _store_slice(operand: ir.Value) -> None:
    """Puts a barrier behind the slice that an operand is a view or a transposition of, if any."""
    found = producer(operand)
    while found is not None and _is_reordered(found):
        found = producer(found.operands[0])
    if found is None or found.name != "tensor.extract_slice" or _is_contiguous(found):
        return
    with ir.InsertionPoint.after(found), found.location:
        kept = barrier(found.result)
    found.result.replace_all_uses_except(kept, kept.owner.operation)


def _is_reordered(operation: ir.Operation) -> bool:
    """Returns whether an operation is a reshape, or transposes the rows and columns of matrices."""
    if operation.name in RESHAPES:
        return True
    if operation.name != "linalg.transpose":
        return False
    axes = [size for size in ir.RankedTensorType(operation.operands[0].type).shape if size != 1]
    return len(axes) <= 2 or _swaps_rows_and_columns(operation)


def _is_contiguous(extraction: ir.Operation) -> bool:
    """Returns whether the elements of a slice are adjacent in the memory of its source."""
    sizes, steps = (list(extraction.attributes[f"static_{name}"]) for name in ("sizes", "strides"))
    whole = ir.RankedTensorType(extraction.operands[0].type).shape
    # Only axes behind the first one with several elements must be whole.
    first = next((axis for axis, size in enumerate(sizes) if size != 1), len(sizes))
    return steps == [1] * len(steps) and sizes[first + 1 :] == list(whole)[first + 1 :]


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
    "put barriers before operands whose packing IREE compiles wrongly or not at all",
    separate_packing,
)
