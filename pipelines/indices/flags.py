"""Asserts conditions on elements and on sizes on the host.

IREE runs a `linalg.generic` on a device, where an assertion cannot end the call, and drops
assertions there. So a separate operation reduces the conditions on elements to one flag, and the
host asserts that it is 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from torch_mlir import ir

from pipelines.indices.values import Size, all_of, compare, number, size_value
from pipelines.ir.lazy_dialects import arith, cf, linalg, tensor

_DYNAMIC = ir.ShapedType.get_dynamic_size()
OUT_OF_RANGE = "index out of range"


def require_valid_index(places: ir.Value, steps: Sequence[Size]) -> None:
    """Asserts that an axis has a valid index, unless the loops make no step.

    An index out of range becomes 0, which is no valid index of an axis of size 0. IREE's host reads
    the flags at the end of a call, but tests sizes before it starts the operations that follow.

    Args:
        places: the number of valid indices, of an integer type.
        steps: the sizes of the loops that access the axis.
    """
    holds = compare(arith.CmpIPredicate.ne, places, number(0, places.type))
    cf.AssertOp(_or_empty(holds, steps), OUT_OF_RANGE)


def require_everywhere(
    sizes: Sequence[Size],
    inputs: Sequence[tuple[ir.Value, ir.AffineMap]],
    conditions: Callable[[Sequence[ir.Value]], Sequence[ir.Value]],
    message: str,
    outer: Sequence[Size] = (),
) -> None:
    """Asserts conditions on elements of tensors, at the insertion point.

    Args:
        sizes: sizes of the loops over the elements.
        inputs: tensors, and their indexing maps.
        conditions: creates values of type i1 from an element of each tensor, in the loops' body.
        outer: sizes of loops around these. If one makes no step, nothing is asserted, because
            eager PyTorch does not read an index then.
    """
    word = ir.IntegerType.get_signless(32)
    scalar = ir.RankedTensorType.get([], word)
    rank = len(sizes)
    covered = {str(each) for _, indexing in inputs for each in indexing.results}
    inputs, count = list(inputs), len(inputs)
    if not all(f"d{loop}" in covered for loop in range(rank)):
        # Operands define the sizes of the loops: add one that is not read.
        dynamic = [size_value(size) for size in sizes if not isinstance(size, int)]
        shape = [size if isinstance(size, int) else _DYNAMIC for size in sizes]
        byte = ir.IntegerType.get_signless(8)
        shaped = ir.RankedTensorType.get(shape, byte)
        inputs.append(
            (
                ir.Operation.create("tensor.empty", [shaped], dynamic).result,
                ir.AffineMap.get_identity(rank),
            )
        )
    zero = number(0, word)
    empty = ir.Operation.create("tensor.empty", [scalar]).result
    clear = linalg.fill(zero, outs=[empty])
    maps = [indexing for _, indexing in inputs] + [ir.AffineMap.get(rank, 0, [])]
    generic = ir.Operation.create(
        "linalg.generic",
        [scalar],
        [*(value for value, _ in inputs), clear],
        {
            "indexing_maps": ir.ArrayAttr.get([ir.AffineMapAttr.get(each) for each in maps]),
            "iterator_types": ir.ArrayAttr.get(
                [ir.Attribute.parse("#linalg.iterator_type<reduction>")] * rank
            ),
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get([len(inputs), 1]),
        },
        regions=1,
    )
    elements = [value.type.element_type for value, _ in inputs]
    block = generic.regions[0].blocks.append(*elements, word)
    with ir.InsertionPoint(block):
        *given, so_far = block.arguments
        holds = all_of(*conditions(given[:count]))
        failed = arith.SelectOp(holds, so_far, number(1, word)).result
        ir.Operation.create("linalg.yield", [], [failed])
    flag = tensor.ExtractOp(generic.result, []).result
    holds = compare(arith.CmpIPredicate.eq, flag, zero)
    cf.AssertOp(_or_empty(holds, outer), message)


def _or_empty(holds: ir.Value, steps: Sequence[Size]) -> ir.Value:
    """Returns whether `holds` is true or a loop makes no step."""
    for size in steps:
        if isinstance(size, int) and size != 0:
            continue
        size = size_value(size)
        is_empty = compare(arith.CmpIPredicate.eq, size, number(0, size.type))
        holds = arith.OrIOp(holds, is_empty).result
    return holds
