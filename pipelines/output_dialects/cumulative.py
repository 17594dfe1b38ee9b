"""Rewrites cumulative products for TOSA and StableHLO.

torch-mlir lowers them to linalg only. Here, each element of the result is the product of the
elements up to its place. The work grows with the square of the row's length.
"""

from __future__ import annotations

from torch_mlir import ir

from pipelines.ir.torch_broadcasts import elementwise, places, reduced, truth, unsqueeze
from pipelines.ir.torch_expressions import cast, literal
from pipelines.ir.torch_operations import element_of, number_of, rewrite, sizes_of

# The longest row whose products are computed.
_LONGEST = 4096


def rewrite_products(module: ir.Module) -> None:
    """Rewrites the cumulative products in a module at `torch`, in place.

    Only other axes may have dynamic sizes. Complex numbers do not change.
    """
    rewrite(module, {"torch.aten.cumprod": _products})


def _products(cumprod: ir.Operation) -> ir.Value | None:
    x, axis, _ = cumprod.operands
    sizes, element = sizes_of(x.type), element_of(cumprod.result.type)
    if not sizes or number_of(axis) is None or element.startswith(("i1", "complex")):
        return None
    place = number_of(axis) % len(sizes)
    count = sizes[place]
    if count is None or not 0 < count <= _LONGEST:
        return None
    if element_of(x.type) != element:
        x = cast(x, element)
    rank = len(sizes) + 1
    # Axis `place` of the mask is that of the result, the next one that of the factors.
    is_factor = truth("le.Tensor", places(count, rank, place + 1), places(count, rank, place))
    factors = elementwise("where.self", is_factor, unsqueeze(x, place), literal(1, element))
    return reduced("prod", factors, place + 1)
