"""Lowers `stablehlo.fft`, which `stablehlo-legalize-to-linalg` does not lower, to matrix products.

A transform of n = n1 * n2 elements is n2 transforms of n1 elements, a product with the twiddle
factors, and n1 transforms of n2 elements (Cooley and Tukey). Short transforms, and those of a prime
length, are products with the matrix of the transform.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import isqrt

from torch_mlir import ir

from pipelines.ir.modules import build_op, find_operations, replace_operations
from pipelines.ir.tensor_ops import permuted

# Up to this length, one matrix product is as fast.
_SHORT = 32


def lower_fourier_transforms(module: ir.Module) -> None:
    """Rewrites the Fourier transforms of a module with static sizes in place."""
    with module.context:
        replace_operations(find_operations(module, _is_static), _lowered)


def _is_static(operation: ir.Operation) -> bool:
    return operation.name == "stablehlo.fft" and (
        ir.RankedTensorType(operation.operands[0].type).has_static_shape
    )


def _lowered(transform: ir.Operation) -> ir.Value:
    lengths = list(ir.DenseI64ArrayAttr(transform.attributes["fft_length"]))
    kind = str(transform.attributes["fft_type"]).split()[-1].rstrip(">")
    x = transform.operands[0]
    rank = ir.RankedTensorType(x.type).rank
    last = rank - 1
    others = range(rank - len(lengths), last)
    if kind == "RFFT":
        whole = _along(_Complex(x, _filled(x.type, 0.0)), last, inverse=False)
        half = lengths[-1] // 2 + 1
        whole = _Complex(*(_slice(each, last, 0, half) for each in (whole.real, whole.imaginary)))
    else:
        real = ir.ComplexType(_element(x)).element_type
        part = ir.RankedTensorType.get(ir.RankedTensorType(x.type).shape, real)
        whole = _Complex(build_op("stablehlo.real", part, x), build_op("stablehlo.imag", part, x))
    for axis in others:
        whole = _along(whole, axis, inverse=kind in ("IFFT", "IRFFT"))
    if kind == "IRFFT":
        whole = _along(_extended(whole, last, lengths[-1]), last, inverse=True)
        return whole.real
    if kind != "RFFT":
        whole = _along(whole, last, inverse=kind == "IFFT")
    return build_op("stablehlo.complex", transform.results[0].type, whole.real, whole.imaginary)


@dataclass(frozen=True)
class _Complex:
    """A tensor of complex numbers."""

    real: ir.Value
    imaginary: ir.Value

    @property
    def shape(self) -> list[int]:
        return ir.RankedTensorType(self.real.type).shape

    def reshaped(self, shape: list[int]) -> _Complex:
        kind = ir.RankedTensorType.get(shape, _element(self.real))
        return _Complex(*(build_op("stablehlo.reshape", kind, each) for each in self._both()))

    def transposed(self, order: list[int]) -> _Complex:
        attribute = ir.DenseI64ArrayAttr.get(order)
        return _Complex(
            *(
                build_op(
                    "stablehlo.transpose", permuted(each.type, order), each, permutation=attribute
                )
                for each in self._both()
            )
        )

    def multiplied(
        self, product: Callable[[ir.Value, ir.Value], ir.Value], factor: _Complex
    ) -> _Complex:
        """Multiplies by a complex tensor, with this product of real tensors."""
        return _Complex(
            _subtract(product(self.real, factor.real), product(self.imaginary, factor.imaginary)),
            _add(product(self.real, factor.imaginary), product(self.imaginary, factor.real)),
        )

    def _both(self) -> tuple[ir.Value, ir.Value]:
        return self.real, self.imaginary


def _along(x: _Complex, axis: int, *, inverse: bool) -> _Complex:
    """Transforms along an axis. An inverse transform is divided by its length."""
    axes = [*range(axis), *range(axis + 1, len(x.shape)), axis]
    length = x.shape[axis]
    result = _last(x.transposed(axes), 1 if inverse else -1)
    if inverse:
        result = _Complex(*(_scaled(each, 1 / length) for each in (result.real, result.imaginary)))
    return result.transposed([axes.index(place) for place in range(len(axes))])


def _last(x: _Complex, sign: int) -> _Complex:
    """Transforms along the last axis, with exp(sign * 2πi / n), without a factor."""
    *batch, length = x.shape
    first = _factor(length)
    if first == 1:
        return x.multiplied(_dot, _roots(x, [length, length], length, sign))
    second = length // first
    rank = len(batch)
    swap = [*range(rank), rank + 1, rank]
    x = _last(x.reshaped([*batch, first, second]).transposed(swap), sign)
    x = x.multiplied(_multiply, _roots(x, [*batch, second, first], length, sign))
    x = _last(x.transposed(swap), sign)
    return x.transposed(swap).reshaped([*batch, length])


def _factor(length: int) -> int:
    """Returns the largest factor up to the square root; 1 if the length is short or prime."""
    if length <= _SHORT:
        return 1
    return next(each for each in range(isqrt(length), 0, -1) if length % each == 0)


def _roots(x: _Complex, shape: list[int], length: int, sign: int) -> _Complex:
    """Returns exp(sign * 2πi * j * k / length), where j and k are the last two indices."""
    # Imported here, because the import takes 0.13 s.
    import numpy as np

    rows, columns = np.arange(shape[-2]), np.arange(shape[-1])
    angles = 2 * np.pi * sign / length * (np.outer(rows, columns) % length)
    element = _element(x.real)
    is_double = element == ir.F64Type.get()
    kind = ir.RankedTensorType.get(shape[-2:], element)
    tables = [
        build_op(
            "stablehlo.constant",
            kind,
            value=ir.DenseElementsAttr.get(
                np.ascontiguousarray(table.astype("float64" if is_double else "float32"))
            ),
        )
        for table in (np.cos(angles), np.sin(angles))
    ]
    whole = ir.RankedTensorType.get(shape, element)
    axes = ir.DenseI64ArrayAttr.get([len(shape) - 2, len(shape) - 1])
    if len(shape) > 2:
        tables = [
            build_op("stablehlo.broadcast_in_dim", whole, each, broadcast_dimensions=axes)
            for each in tables
        ]
    return _Complex(*tables)


def _extended(x: _Complex, axis: int, length: int) -> _Complex:
    """Extends half of the spectrum of real numbers to the whole length.

    The other half is the mirrored conjugate. Zeros in its place give the same real part after the
    inverse transform, if each element that has a mirror image is doubled.
    """
    factors = [2.0] * x.shape[axis]
    factors[0] = 1.0
    if length % 2 == 0:
        factors[-1] = 1.0
    rank = len(x.shape)
    element = _element(x.real)
    line = ir.RankedTensorType.get([len(factors)], element)
    numbers = [ir.FloatAttr.get(element, each) for each in factors]
    values = ir.DenseElementsAttr.get(numbers, line)
    axes = ir.DenseI64ArrayAttr.get([axis])
    doubling = build_op(
        "stablehlo.broadcast_in_dim",
        x.real.type,
        build_op("stablehlo.constant", line, value=values),
        broadcast_dimensions=axes,
    )
    shape, high = list(x.shape), [0] * rank
    shape[axis], high[axis] = length, length - len(factors)
    zero = _filled(ir.RankedTensorType.get([], element), 0.0)
    array = ir.DenseI64ArrayAttr.get
    return _Complex(
        *(
            build_op(
                "stablehlo.pad",
                ir.RankedTensorType.get(shape, element),
                _multiply(part, doubling),
                zero,
                edge_padding_low=array([0] * rank),
                edge_padding_high=array(high),
                interior_padding=array([0] * rank),
            )
            for part in (x.real, x.imaginary)
        )
    )


def _element(x: ir.Value) -> ir.Type:
    return ir.RankedTensorType(x.type).element_type


def _slice(x: ir.Value, axis: int, start: int, limit: int) -> ir.Value:
    kind = ir.RankedTensorType(x.type)
    starts, limits = [0] * kind.rank, list(kind.shape)
    starts[axis], limits[axis] = start, limit
    shape = [end - begin for begin, end in zip(starts, limits, strict=True)]
    array = ir.DenseI64ArrayAttr.get
    return build_op(
        "stablehlo.slice",
        ir.RankedTensorType.get(shape, kind.element_type),
        x,
        start_indices=array(starts),
        limit_indices=array(limits),
        strides=array([1] * kind.rank),
    )


def _scaled(x: ir.Value, factor: float) -> ir.Value:
    return _multiply(x, _filled(x.type, factor))


def _filled(kind: ir.Type, value: float) -> ir.Value:
    kind = ir.RankedTensorType(kind)
    number = ir.FloatAttr.get(kind.element_type, value)
    splat = ir.DenseElementsAttr.get_splat(kind, number)
    return build_op("stablehlo.constant", kind, value=splat)


def _add(x: ir.Value, y: ir.Value) -> ir.Value:
    return build_op("stablehlo.add", x.type, x, y)


def _subtract(x: ir.Value, y: ir.Value) -> ir.Value:
    return build_op("stablehlo.subtract", x.type, x, y)


def _multiply(x: ir.Value, y: ir.Value) -> ir.Value:
    return build_op("stablehlo.multiply", x.type, x, y)


def _dot(x: ir.Value, matrix: ir.Value) -> ir.Value:
    last = ir.RankedTensorType(x.type).rank - 1
    numbers = ir.Attribute.parse(
        f"#stablehlo.dot<lhs_contracting_dimensions = [{last}], rhs_contracting_dimensions = [0]>"
    )
    return build_op("stablehlo.dot_general", x.type, x, matrix, dot_dimension_numbers=numbers)
