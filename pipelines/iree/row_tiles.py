"""Multiplies matrices with a dynamic number of rows in tiles of 8 rows, on the CPU.

IREE packs matrices of static size into tiles. With a dynamic number of rows, its code takes two to
three times as long. Here, the rows are padded to full tiles, and the product of tiles gets a
schedule: sums of one tile in registers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from torch_mlir import ir

from pipelines.ir.generics import generic
from pipelines.ir.lazy_dialects import arith
from pipelines.ir.loops import Size, Slice, index
from pipelines.ir.modules import build_op, find_operations
from pipelines.ir.tensor_ops import (
    dynamic_sizes,
    elementwise,
    is_of_zeros,
    padded,
    product_of,
    reshaped,
    sizes_of,
    tensor_type,
    zeros,
)
from pipelines.iree.barriers import stored
from pipelines.iree.dispatch_region import dispatch
from pipelines.pipeline import Step

# The rows of a tile.
_ROWS = 8
# The numbers of columns of results are multiples of this one.
LANES = 16
# The tiles of a workgroup, and its columns, at most.
_TILES, _WIDEST = 8, 64


@dataclass(frozen=True)
class Registers:
    """The sums that are in registers at a time.

    Attributes:
        rows: the number of rows.
        lanes: numbers of columns. The first one that divides their count is used.
    """

    rows: int
    lanes: tuple[int, ...]


# For 32 vector registers of 64 bytes, and for 16 of 32 bytes.
MANY, FEW = Registers(8, (32, LANES)), Registers(4, (LANES,))


def tile_rows(module: ir.Module, registers: Registers = MANY) -> None:
    """Rewrites matrix products of f32 with a dynamic number of rows, in place.

    The module's context must allow unregistered dialects.
    """
    with module.context:
        for product in find_operations(module, _is_supported):
            with ir.InsertionPoint(product), product.location:
                left, right, init = product.operands
                result = multiply_rows(left, right, registers)
                if not is_of_zeros(init):
                    result = added(result, init)
                product.results[0].replace_all_uses_with(result)
            product.erase()


def _is_supported(operation: ir.Operation) -> bool:
    if operation.name != "linalg.matmul":
        return False
    left, right, init = (ir.RankedTensorType(each.type) for each in operation.operands)
    return (
        all(isinstance(kind.element_type, ir.F32Type) for kind in (left, right, init))
        and left.is_dynamic_dim(0)
        and not left.is_dynamic_dim(1)
        and right.has_static_shape
        and right.shape[1] % LANES == 0
        and not _has_own_maps(operation)
    )


def _has_own_maps(product: ir.Operation) -> bool:
    """Returns whether an operand of a `linalg.matmul` is transposed or broadcast."""
    wanted = ["(d0, d1, d2) -> (d0, d2)", "(d0, d1, d2) -> (d2, d1)", "(d0, d1, d2) -> (d0, d1)"]
    found = [
        str(ir.AffineMapAttr(each).value) for each in product.attributes.get("indexing_maps", ())
    ]
    return bool(found) and found != wanted


def multiply_rows(left: ir.Value, right: ir.Value, registers: Registers) -> ir.Value:
    """Creates a product of matrices.

    Args:
        left: shape (rows, depth), f32.
        right: shape (depth, columns), f32, static; `columns` is a multiple of `LANES`.
    """
    rows, depth = sizes_of(left)
    _, columns = ir.RankedTensorType(right.type).shape
    element = ir.RankedTensorType(left.type).element_type
    count = in_tiles(rows, _ROWS)
    zero = arith.ConstantOp(element, ir.FloatAttr.get(element, 0.0)).result
    extra = minus(product_of([count, _ROWS]), rows)
    left = reshaped(
        "tensor.expand_shape",
        padded(left, [0, 0], [extra, 0], zero),
        [count, _ROWS, depth],
        [[0, 1], [2]],
    )
    left, right = stored(left), stored(right)
    lanes = next(each for each in registers.lanes if columns % each == 0)
    sizes = [count, _ROWS, columns]

    def multiply() -> list[ir.Value]:
        found = generic(
            [left, right],
            [zeros(sizes, element)],
            [[0, 1, 3], [3, 2], [0, 1, 2]],
            ["parallel"] * 3 + ["reduction"],
            lambda one, other, total: [arith.AddFOp(total, arith.MulFOp(one, other).result).result],
        )
        schedule(
            found[0].owner.operation,
            "DoubleTilingExpert",
            [_TILES, 0, workgroup(columns, lanes), 0],
            [1, registers.rows, lanes, 0],
            [0, 0, 0, 1],
        )
        return found

    (tiles,) = dispatch([tensor_type(sizes, element)], dynamic_sizes(sizes), multiply)
    flat = reshaped(
        "tensor.collapse_shape", tiles, [product_of([count, _ROWS]), columns], [[0, 1], [2]]
    )
    return Slice((0, 0), (rows, columns), (0, 1)).take(flat)


def added(value: ir.Value, other: ir.Value) -> ir.Value:
    """Creates the sum of two tensors of one shape."""
    loops = [ir.AffineDimExpr.get(axis) for axis in range(ir.RankedTensorType(value.type).rank)]
    return elementwise(
        sizes_of(other),
        [(value, loops), (other, loops)],
        lambda one, two: arith.AddFOp(one, two).result,
    )


def workgroup(columns: int, lanes: int) -> int:
    """Returns how many columns a workgroup computes: vectors of lanes that divide their count."""
    return max(each for each in range(lanes, _WIDEST + 1, lanes) if columns % each == 0)


def schedule(
    operation: ir.Operation,
    pipeline: str,
    distribution: Sequence[int],
    vectors: Sequence[int],
    reduction: Sequence[int],
) -> None:
    """Sets IREE's tile sizes of an operation in a dispatch: of workgroups, vectors and sums."""
    operation.attributes["compilation_info"] = ir.Attribute.parse(
        "#iree_codegen.compilation_info<lowering_config = #iree_cpu.lowering_config<"
        f"distribution = {list(distribution)}, vector_common_parallel = {list(vectors)}, "
        f"vector_reduction = {list(reduction)}>, translation_info = "
        f"#iree_codegen.translation_info<pipeline = #iree_cpu.pipeline<{pipeline}>>>"
    )


def in_tiles(length: Size, tile: int) -> Size:
    """Returns the number of tiles that cover a length."""
    if isinstance(length, int):
        return -(-length // tile)
    return build_op("arith.ceildivui", ir.IndexType.get(), length, index(tile))


def minus(size: Size, other: Size) -> Size:
    """Returns the difference of two sizes."""
    if isinstance(size, int) and isinstance(other, int):
        return size - other
    return arith.SubIOp(index(size), index(other)).result


TILE_ROWS = Step(
    "iree-tile-rows",
    "multiply matrices with a dynamic number of rows in tiles of rows, which IREE only does for "
    "static sizes",
    tile_rows,
)
TILE_ROWS_FEW_REGISTERS = Step(
    "iree-tile-rows-few-registers",
    "the same for CPUs with 16 vector registers, which hold fewer sums",
    partial(tile_rows, registers=FEW),
)
