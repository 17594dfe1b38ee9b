"""Lowerings of elementwise operators, with ONNX's rules for integers and result types."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F

from importers.onnx.node import Node
from importers.onnx.operators.unsigned import in_order, in_wider, quotient, remainder
from importers.onnx.registry import operator

Tensor = torch.Tensor

# These take the inputs of the node, and have no attributes.
_PLAIN: dict[str, Callable[..., Tensor]] = {
    "Acos": torch.acos,
    "Acosh": torch.acosh,
    "Asin": torch.asin,
    "Asinh": torch.asinh,
    "Atan": torch.atan,
    "Atanh": torch.atanh,
    "Ceil": torch.ceil,
    "Cos": torch.cos,
    "Cosh": torch.cosh,
    "Erf": torch.erf,
    "Exp": torch.exp,
    "Floor": torch.floor,
    "HardSwish": lambda x: x * torch.clamp(x / 6 + 0.5, 0, 1),
    "Identity": lambda x: x,
    "IsNaN": torch.isnan,
    "Log": torch.log,
    "Mish": F.mish,
    "Neg": torch.neg,
    "Not": torch.logical_not,
    "Reciprocal": torch.reciprocal,
    "Relu": torch.relu,
    "Round": torch.round,
    "Sigmoid": torch.sigmoid,
    "Sin": torch.sin,
    "Sinh": torch.sinh,
    "Softplus": F.softplus,
    "Softsign": F.softsign,
    "Sqrt": torch.sqrt,
    "Tan": torch.tan,
    "Tanh": torch.tanh,
    "Add": in_wider(torch.add),
    "Sub": in_wider(torch.sub),
    "Mul": in_wider(torch.mul),
    "And": torch.logical_and,
    "Or": torch.logical_or,
    "Xor": torch.logical_xor,
    "BitwiseAnd": in_wider(torch.bitwise_and),
    "BitwiseOr": in_wider(torch.bitwise_or),
    "BitwiseXor": in_wider(torch.bitwise_xor),
    "Equal": in_order(torch.eq),
    "Greater": in_order(torch.gt),
    "GreaterOrEqual": in_order(torch.ge),
    "Less": in_order(torch.lt),
    "LessOrEqual": in_order(torch.le),
    "PRelu": lambda x, slope: torch.where(x < 0, slope * x, x),
    "Where": torch.where,
}
# These take the input and the values of attributes, whose defaults are listed.
_WITH_ATTRIBUTES: dict[str, tuple[Callable[..., Tensor], dict[str, Any]]] = {
    "Celu": (F.celu, {"alpha": 1.0}),
    "Elu": (F.elu, {"alpha": 1.0}),
    # With the error function or its tanh approximation.
    "Gelu": (F.gelu, {"approximate": "none"}),
    "HardSigmoid": (
        lambda x, alpha, beta: torch.clamp(x * alpha + beta, 0, 1),
        {"alpha": 0.2, "beta": 0.5},
    ),
    "LeakyRelu": (lambda x, alpha: F.leaky_relu(x, alpha), {"alpha": 0.01}),
    "Selu": (
        lambda x, alpha, gamma: torch.where(x > 0, x, alpha * torch.expm1(x)) * gamma,
        {"alpha": 1.6732632423543772, "gamma": 1.0507009873554805},
    ),
    "Swish": (lambda x, alpha: x * torch.sigmoid(alpha * x), {"alpha": 1.0}),
    # 0 up to the threshold.
    "ThresholdedRelu": (
        lambda x, alpha: torch.where(x > alpha, x, torch.zeros_like(x)),
        {"alpha": 1.0},
    ),
}
_VARIADIC: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "Max": in_order(torch.maximum),
    "Min": in_order(torch.minimum),
    "Sum": torch.add,
}


def _register() -> None:
    for name, plain in _PLAIN.items():
        operator(name)(lambda _node, *xs, plain=plain: plain(*xs))
    for name, joined in _VARIADIC.items():
        operator(name)(lambda _node, *xs, joined=joined: functools.reduce(joined, xs))
    for name, (function, defaults) in _WITH_ATTRIBUTES.items():
        operator(name)(functools.partial(_with_attributes, function=function, defaults=defaults))


def _with_attributes(
    node: Node, x: Tensor, function: Callable[..., Tensor], defaults: dict[str, Any]
) -> Tensor:
    return function(x, **{name: node.get(name, default) for name, default in defaults.items()})


_register()


@operator("Abs")
def absolute(_node: Node, x: Tensor) -> Tensor:
    """Lowers `Abs`. Unsigned numbers stay unchanged."""
    return torch.abs(x) if x.dtype.is_signed else x


@operator("Sign")
def sign(_node: Node, x: Tensor) -> Tensor:
    """Lowers `Sign`: -1, 0 or 1; NaN for NaN."""
    if not x.is_floating_point():
        return torch.sign(x)
    return torch.where(torch.isnan(x), x, torch.sign(x))


@operator("BitwiseNot")
def bitwise_not(_node: Node, x: Tensor) -> Tensor:
    """Lowers `BitwiseNot`."""
    return in_wider(torch.bitwise_xor)(x, torch.full((), -1, dtype=torch.int64).to(x.dtype))


@operator("BitShift")
def bit_shift(node: Node, x: Tensor, by: Tensor) -> Tensor:
    """Lowers `BitShift`. Out-of-range shifts return 0, or the sign for signed right shifts."""
    left, width = node.get("direction") == "LEFT", 8 * x.dtype.itemsize
    signed = x.dtype.is_signed

    def shifted(x: Tensor, by: Tensor) -> Tensor:
        beyond = (by < 0) | (by >= width)
        if left:
            by = torch.where(beyond, 0, by)
            return torch.where(beyond, 0, torch.bitwise_left_shift(x, by))
        if signed:
            return torch.bitwise_right_shift(x, torch.where(beyond, width - 1, by))
        # Shift by one and clear the sign bit, then by the rest: int64 may hold uint64.
        rest = torch.bitwise_right_shift(x, 1) & torch.iinfo(x.dtype).max
        rest = torch.bitwise_right_shift(rest, torch.where(beyond | (by == 0), 0, by - 1))
        return torch.where(beyond, 0, torch.where(by == 0, x, rest))

    if x.dtype in (torch.uint8, torch.int8):
        return shifted(x.to(torch.int32), by.to(torch.int32)).to(x.dtype)
    return in_wider(shifted)(x, by)


@operator("Div")
def div(_node: Node, a: Tensor, b: Tensor) -> Tensor:
    """Lowers `Div`. Integer quotients are truncated."""
    return torch.div(a, b) if a.is_floating_point() else quotient(a, b)


@operator("Mod")
def mod(node: Node, a: Tensor, b: Tensor) -> Tensor:
    """Lowers `Mod`. The result has the sign of the divisor, or of the dividend with `fmod`."""
    if node.get("fmod", 0):
        return torch.fmod(a, b) if a.dtype.is_signed else remainder(a, b)
    return torch.remainder(a, b) if a.dtype.is_signed else remainder(a, b)


@operator("Pow")
def power(_node: Node, x: Tensor, exponent: Tensor) -> Tensor:
    """Lowers `Pow`. The result has the type of the base."""
    if exponent.dtype in (torch.uint16, torch.uint32, torch.uint64):
        exponent = exponent.to(torch.int64)
    return torch.pow(x, exponent).to(x.dtype)


@operator("Mean")
def mean(_node: Node, *xs: Tensor) -> Tensor:
    """Lowers `Mean`, the mean of several tensors."""
    return functools.reduce(torch.add, xs) / len(xs)


@operator("IsInf")
def is_inf(node: Node, x: Tensor) -> Tensor:
    """Lowers `IsInf`, for infinities of both signs or of one."""
    found = torch.isinf(x)
    if not node.get("detect_negative", 1):
        found = found & (x > 0)
    if not node.get("detect_positive", 1):
        found = found & (x < 0)
    return found


@operator("Clip")
def clip(node: Node, x: Tensor, low: Tensor | None = None, high: Tensor | None = None) -> Tensor:
    """Lowers `Clip`. Bounds are inputs, or attributes in older opsets.

    If the bounds cross, the upper one applies.
    """
    if x.is_floating_point() and all(each.known for each in node.values[1:] if each is not None):
        least, most = node.number(1, node.get("min")), node.number(2, node.get("max"))
        return x if least is most is None else torch.clamp(x, least, most)
    if low is not None:
        x = in_order(torch.maximum)(x, low)
    return x if high is None else in_order(torch.minimum)(x, high)


@operator("Shrink")
def shrink(node: Node, x: Tensor) -> Tensor:
    """Lowers `Shrink`: 0 within the limit, shifted toward 0 outside."""
    limit, bias = node.get("lambd", 0.5), node.get("bias", 0.0)
    zero = torch.zeros_like(x)
    shrunk = torch.where(x < -limit, x + bias, torch.where(x > limit, x - bias, zero))
    return shrunk.to(x.dtype)


@operator("Binarizer", domain="ai.onnx.ml")
def binarizer(node: Node, x: Tensor) -> Tensor:
    """Lowers `Binarizer`: 1 above the threshold, else 0."""
    return (x > node.get("threshold", 0.0)).to(x.dtype)


@operator("EyeLike")
def eye_like(node: Node, x: Tensor) -> Tensor:
    """Lowers `EyeLike`: ones on a diagonal."""
    # Imported here to save start-up time: every capture imports this file, and few need onnx.
    from importers.onnx.element_types import code_of

    dtype = node.dtype("dtype", code_of(x.dtype))
    rows, columns = (torch.arange(size).unsqueeze(1 - axis) for axis, size in enumerate(x.shape))
    return (columns - rows == node.get("k", 0)).to(dtype)
