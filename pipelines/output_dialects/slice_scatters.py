"""Makes `slice_scatter` a concatenation, for TOSA and StableHLO.

torch-mlir's lowerings create constant indices. For TOSA, they have one for each element that is
written: 2.4 GB of IR for torchvision's mvit_v2_s. For StableHLO, they have one for each number of
the range. PyTorch exports `x[:, 2:] = y` with an end of 2 ** 63 - 1, for which this lowering runs
out of memory. Neither lowers a range without a start or an end.
"""

from __future__ import annotations

from torch_mlir import ir

from pipelines.ir.modules import build_op
from pipelines.ir.torch_broadcasts import slice_axis
from pipelines.ir.torch_operations import (
    element_of,
    integer_constant,
    is_none,
    number_of,
    rewrite,
    sizes_of,
)


def concatenate_slices(module: ir.Module) -> None:
    """Rewrites `slice_scatter` in a module at `torch`, in place.

    With a step above 1, or another dtype, it stays. Then its start and end become numbers between 0
    and the axis's size. Axes of dynamic size and computed ends do not change.
    """
    rewrite(module, {"torch.aten.slice_scatter": _concatenated})


def _concatenated(scatter: ir.Operation) -> ir.Value | None:
    x, new, axis, start, end, step = scatter.operands
    size = sizes_of(x.type)[number_of(axis)]
    known = all(number_of(each) is not None or is_none(each) for each in (start, end, step))
    if size is None or not known:
        return None
    first, stop, _ = slice(number_of(start), number_of(end), number_of(step)).indices(size)
    if first >= stop:
        return x
    if number_of(step) == 1 and element_of(x.type) == element_of(new.type):
        return _with_slice(x, new, number_of(axis), first, stop)
    scatter.operands[3] = integer_constant(first)
    scatter.operands[4] = integer_constant(stop)
    return None


def _with_slice(x: ir.Value, new: ir.Value, axis: int, first: int, stop: int) -> ir.Value:
    """Returns `x` with `new` in the places from `first` to `stop` of an axis of static size."""
    size = sizes_of(x.type)[axis]
    parts = [new]
    if first > 0:
        parts.insert(0, slice_axis(x, axis, 0, first))
    if stop < size:
        parts.append(slice_axis(x, axis, stop, size))
    listed = build_op("torch.prim.ListConstruct", "!torch.list<vtensor>", *parts)
    return build_op("torch.aten.cat", x.type, listed, integer_constant(axis))
