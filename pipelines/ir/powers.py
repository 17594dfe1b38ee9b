"""Expands powers with the exponents that eager PyTorch's kernel special-cases, in the same way."""

from __future__ import annotations

from collections.abc import Callable

from torch_mlir import ir

from pipelines.ir.expressions import Scalar
from pipelines.ir.values import producer_named


def expand_power(operation: ir.Operation) -> ir.Value | None:
    """Creates products, quotients or a square root that compute a `math.powf`.

    Returns None if the exponent is not one of a few constants.
    """
    base, exponent = operation.operands
    constant = producer_named(exponent, "arith.constant")
    if constant is None:
        return None
    number = constant.attributes["value"]
    if not isinstance(number, ir.FloatAttr):
        return None
    expansion = _POWERS.get(number.value)
    return None if expansion is None else expansion(Scalar(base)).value


_POWERS: dict[float, Callable[[Scalar], Scalar]] = {
    0.5: lambda base: base.math("sqrt"),
    2.0: lambda base: base * base,
    3.0: lambda base: base * base * base,
    -0.5: lambda base: 1 / base.math("sqrt"),
    -1.0: lambda base: 1 / base,
    -2.0: lambda base: 1 / (base * base),
}
