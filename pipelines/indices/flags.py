"""Asserts conditions on elements and on sizes on the host.

IREE runs a `linalg.generic` on a device, where an assertion cannot end the call, and drops
assertions there. So a separate operation reduces the conditions on elements to one flag, and the
host asserts that it is 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from torch_mlir import ir

from pipelines.indices.values import Size, all_of, compare, number, size_value
from pipelines.ir.generics import generic
from pipelines.ir.lazy_dialects import arith, cf, tensor
from pipelines.ir.tensor_ops import copied, empty

OUT_OF_RANGE = "index out of range"


def require_valid_index(places: ir.Value, steps: Sequence[Size]) -> None:
    """Asserts that an axis has a valid index, unless the loops have no iterations.

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
        outer: sizes of loops around these. If one has no iterations, nothing is asserted, because
            eager PyTorch does not read an index then.
    """
    word = ir.IntegerType.get_signless(32)
    rank = len(sizes)
    covered = {str(each) for _, indexing in inputs for each in indexing.results}
    inputs, count = list(inputs), len(inputs)
    if not all(f"d{loop}" in covered for loop in range(rank)):
        # Operands define the sizes of the loops: add one that is not read.
        shape = [size if isinstance(size, int) else size_value(size) for size in sizes]
        unread = empty(shape, ir.IntegerType.get_signless(8))
        inputs.append((unread, ir.AffineMap.get_identity(rank)))
    zero = number(0, word)

    def failed(*elements: ir.Value) -> list[ir.Value]:
        holds = all_of(*conditions(elements[:count]))
        return [arith.SelectOp(holds, elements[-1], number(1, word)).result]

    (found,) = generic(
        [value for value, _ in inputs],
        [copied("linalg.fill", [], zero)],
        [*(list(indexing.results) for _, indexing in inputs), []],
        ["reduction"] * rank,
        failed,
    )
    flag = tensor.ExtractOp(found, []).result
    holds = compare(arith.CmpIPredicate.eq, flag, zero)
    cf.AssertOp(_or_empty(holds, outer), message)


def _or_empty(holds: ir.Value, steps: Sequence[Size]) -> ir.Value:
    """Returns whether `holds` is true or a loop has no iterations."""
    for size in steps:
        if isinstance(size, int) and size != 0:
            continue
        size = size_value(size)
        is_empty = compare(arith.CmpIPredicate.eq, size, number(0, size.type))
        holds = arith.OrIOp(holds, is_empty).result
    return holds
