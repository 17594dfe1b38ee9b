"""Limits the ranges of `slice_scatter` to the axis, for TOSA and StableHLO.

PyTorch exports `x[:, 2:] = y` with an end of 2 ** 63 - 1. For StableHLO, torch-mlir creates an
index for each number of the range, until it runs out of memory. It lowers no range without a start
or an end.
"""

from __future__ import annotations

from torch_mlir import ir

from pipelines.ir.torch_operations import (
    integer_constant,
    is_none,
    number_of,
    rewrite,
    sizes_of,
)


def limit_ranges(module: ir.Module) -> None:
    """Rewrites a module at `torch`: ends of ranges are numbers between 0 and the axis's size.

    Axes of dynamic size and computed ends do not change.
    """
    rewrite(module, {"torch.aten.slice_scatter": _limited})


def _limited(scatter: ir.Operation) -> ir.Value | None:
    x, _, axis, start, end, step = scatter.operands
    size = sizes_of(x.type)[number_of(axis)]
    known = all(number_of(each) is not None or is_none(each) for each in (start, end, step))
    if size is None or not known:
        return None
    first, stop, _ = slice(number_of(start), number_of(end), number_of(step)).indices(size)
    if first >= stop:
        return x
    scatter.operands[3] = integer_constant(first)
    scatter.operands[4] = integer_constant(stop)
    return None
