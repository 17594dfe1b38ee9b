"""Rewrites cumulative sums and products, differently for each output dialect.

torch-mlir lowers them to linalg as loops that add in the operand's dtype. Eager adds in f64, and
the sum of 1,000,000 numbers in f32 differs by 3e-5. So linalg gets loops in f64.

At TOSA and StableHLO, torch-mlir has no lowering for products and for dynamic sizes. There, each
element of the result is the product or sum of the elements up to its place. The work grows with
the square of the row's length.
"""

from __future__ import annotations

from torch_mlir import ir

from pipelines.ir.modules import build_op
from pipelines.ir.torch_broadcasts import elementwise, places_along, reduced, truth, unsqueeze
from pipelines.ir.torch_expressions import cast, literal
from pipelines.ir.torch_operations import (
    element_of,
    number_of,
    rewrite,
    sizes_of,
)

# The longest row of static size that is rewritten.
_LONGEST = 4096


def rewrite_cumulative(module: ir.Module) -> None:
    """Rewrites `cumprod`, and `cumsum` of dynamic sizes, in a module at `torch`, in place.

    Complex numbers, and products of booleans, do not change.
    """
    rewrite(module, {"torch.aten.cumprod": _products, "torch.aten.cumsum": _sums})


def accumulate_in_f64(module: ir.Module) -> None:
    """Computes `cumsum` and `cumprod` of f32 in f64, in a module at `torch`, in place."""
    rewrite(module, dict.fromkeys(("torch.aten.cumprod", "torch.aten.cumsum"), _in_f64))


def _in_f64(operation: ir.Operation) -> ir.Value | None:
    x, axis, dtype = operation.operands
    result = operation.result.type
    if element_of(x.type) != "f32" or element_of(result) != "f32":
        return None
    wide = cast(x, "f64")
    return cast(build_op(operation.name, wide.type, wide, axis, dtype), "f32")


def _products(cumprod: ir.Operation) -> ir.Value | None:
    return _accumulated(cumprod, "prod", 1)


def _sums(cumsum: ir.Operation) -> ir.Value | None:
    is_dynamic = None in sizes_of(cumsum.operands[0].type)
    return _accumulated(cumsum, "sum", 0) if is_dynamic else None


def _accumulated(operation: ir.Operation, name: str, neutral: int) -> ir.Value | None:
    x, axis, _ = operation.operands
    sizes, element = sizes_of(x.type), element_of(operation.result.type)
    if not sizes or number_of(axis) is None or element.startswith(("i1", "complex")):
        return None
    place = number_of(axis) % len(sizes)
    if sizes[place] is not None and not 0 < sizes[place] <= _LONGEST:
        return None
    if element_of(x.type) != element:
        x = cast(x, element)
    rank = len(sizes) + 1
    # Axis `place` of the mask is that of the result, the next one that of the terms.
    term, own = (places_along(x, place, rank, each) for each in (place + 1, place))
    is_term = truth("le.Tensor", term, own)
    terms = elementwise("where.self", is_term, unsqueeze(x, place), literal(neutral, element))
    return reduced(name, terms, place + 1)
