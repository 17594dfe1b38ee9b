"""Operators on complex tensors, in terms of real and imaginary parts.

`OPERATORS` maps an operator to a function with the same arguments, where every complex tensor is a
`Complex`. Results have the precision of the operands' parts. Intermediate values do not overflow
where the result does not.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable
from typing import Any

import torch

from importers.decompositions.complex_pair import REAL, Complex
from importers.decompositions.scan import scan
from importers.repairs.complex_exponentials import (
    arccosine,
    arcsine,
    arctangent,
    exponential,
    hyperbolic_arccosine,
    hyperbolic_arcsine,
    hyperbolic_arctangent,
    hyperbolic_cosine,
    hyperbolic_sine,
    hyperbolic_tangent,
    magnitude,
    square_root,
)
from importers.repairs.complex_random import HALF_VARIANCE, drawn, drawn_like, normal, uniform

aten = torch.ops.aten


def real_dtype(dtype: torch.dtype | None) -> torch.dtype | None:
    """Returns the dtype of a complex dtype's parts; any other dtype unchanged."""
    return REAL.get(dtype, dtype)


def _complex(value: Any, like: torch.dtype) -> Complex:
    """Converts an operand (Complex, real tensor or number) to a Complex with parts of a dtype."""
    if isinstance(value, Complex):
        return value.map(torch.Tensor.to, like)
    if isinstance(value, torch.Tensor):
        real = value.to(like)
        return Complex(real, torch.zeros_like(real))
    number = complex(value)
    return Complex(torch.full((), number.real, dtype=like), torch.full((), number.imag, dtype=like))


def _dtype(*values: Any) -> torch.dtype:
    """Returns the dtype of the parts of an operation's result.

    Operands with dimensions take precedence over scalars. Integer operands are ignored.
    """
    tensors = [value for value in values if isinstance(value, (Complex, torch.Tensor))]
    parts = [value.real if isinstance(value, Complex) else value for value in tensors]
    floating = [part for part in parts if part.is_floating_point()]
    ranked = [part.dtype for part in floating if part.dim()] or [part.dtype for part in floating]
    return functools.reduce(torch.promote_types, ranked) if ranked else torch.get_default_dtype()


def _add(a: Any, b: Any, *, alpha: Any = 1) -> Complex:
    dtype = _dtype(a, b)
    if alpha != 1:
        b = _multiply(b, alpha)
    a, b = _complex(a, dtype), _complex(b, dtype)
    return Complex(a.real + b.real, a.imaginary + b.imaginary)


def _subtract(a: Any, b: Any, *, alpha: Any = 1) -> Complex:
    return _add(a, b, alpha=-alpha)


def _subtract_from(a: Any, b: Any, alpha: Any = 1) -> Complex:
    return _add(b, a, alpha=-alpha)


def _bilinear(product: Callable[..., torch.Tensor]) -> Callable[..., Complex]:
    """Extends a bilinear product to complex operands: 4 real products, 2 if an operand is real."""

    def multiplied(a: Any, b: Any, *rest: Any, **options: Any) -> Complex:
        dtype = _dtype(a, b)

        def times(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            return product(x, y, *rest, **options)

        if _is_real(b):
            b = _real_part(b, dtype)
            return _complex(a, dtype).map(times, b)
        if _is_real(a):
            a, b = _real_part(a, dtype), _complex(b, dtype)
            return Complex(times(a, b.real), times(a, b.imaginary))
        a, b = _complex(a, dtype), _complex(b, dtype)
        return Complex(
            times(a.real, b.real) - times(a.imaginary, b.imaginary),
            times(a.real, b.imaginary) + times(a.imaginary, b.real),
        )

    return multiplied


def _is_real(value: Any) -> bool:
    return not isinstance(value, (Complex, complex))


def _real_part(value: Any, dtype: torch.dtype) -> Any:
    return value.to(dtype) if isinstance(value, torch.Tensor) else value


_multiply = _bilinear(operator.mul)


def _divide(a: Any, b: Any, *, rounding_mode: str | None = None) -> Complex:
    dtype = _dtype(a, b)
    a = _complex(a, dtype)
    if _is_real(b):
        return a.map(operator.truediv, _real_part(b, dtype))
    b = _complex(b, dtype)
    # Scale by the larger part of the divisor, as eager does: squares could overflow or underflow.
    wide = b.real.abs() >= b.imaginary.abs()
    larger = torch.where(wide, b.real, b.imaginary)
    smaller = torch.where(wide, b.imaginary, b.real)
    ratio = smaller / larger
    scale = 1 / (larger + smaller * ratio)
    real = torch.where(wide, a.real + a.imaginary * ratio, a.real * ratio + a.imaginary)
    imaginary = torch.where(wide, a.imaginary - a.real * ratio, a.imaginary * ratio - a.real)
    zero = (larger == 0) & (smaller == 0)
    return Complex(
        torch.where(zero, a.real / larger.abs(), real * scale),
        torch.where(zero, a.imaginary / larger.abs(), imaginary * scale),
    )


def _reciprocal(z: Complex) -> Complex:
    return _divide(1, z)


def _angle(z: Complex) -> torch.Tensor:
    return torch.atan2(z.imaginary, z.real)


def _polar(magnitude: torch.Tensor, angle: torch.Tensor) -> Complex:
    return Complex(magnitude * torch.cos(angle), magnitude * torch.sin(angle))


def _sign(z: Complex) -> Complex:
    size = magnitude(z)
    return z.map(operator.truediv, torch.where(size == 0, 1, size))


def _log(z: Complex) -> Complex:
    size = magnitude(z)
    # The magnitude of the largest numbers overflows.
    overflown = torch.log(magnitude(z.map(operator.mul, 0.5))) + math.log(2)
    far = torch.where(torch.isinf(size), overflown, torch.log(size))
    # Near 1, the logarithm needs the difference from 1.
    x, y = z.real.abs(), z.imaginary.abs()
    large, small = torch.maximum(x, y), torch.minimum(x, y)
    near = torch.log1p((large - 1) * (large + 1) + small * small) / 2
    return Complex(torch.where((size > 0.5) & (size < 2), near, far), _angle(z))


def _log_in_base(base: float) -> Callable[[Complex], Complex]:
    return lambda z: _log(z).map(operator.truediv, math.log(base))


def _log1p(z: Complex) -> Complex:
    x, y = z.real, z.imaginary
    # |1 + z|² = 1 + x (2 + x) + y². Near 1, its logarithm needs the exact difference from 1.
    near = torch.log1p(x * (2 + x) + y * y) / 2
    shifted = Complex(1 + x, y)
    far = torch.log(magnitude(shifted))
    return Complex(torch.where(magnitude(z) < 0.5, near, far), _angle(shifted))


def _expm1(z: Complex) -> Complex:
    x, y = z.real, z.imaginary
    half = torch.sin(y / 2)
    return Complex(
        torch.expm1(x) * torch.cos(y) - 2 * half * half,
        torch.exp(x) * torch.sin(y),
    )


def _logaddexp(a: Complex, b: Complex) -> Complex:
    first = a.real >= b.real
    larger, smaller = _where(first, a, b), _where(first, b, a)
    result = _add(larger, _log1p(exponential(_subtract(smaller, larger))))
    # Equal infinite operands have no difference.
    return _where(torch.isinf(larger.real) & _equal(a, b), larger, result)


def _turned(function: Callable[[Complex], Complex], back: bool) -> Callable[[Complex], Complex]:
    """Returns the function f(-i·z), multiplied by i if `back` is set."""

    def turned(z: Complex) -> Complex:
        result = function(Complex(z.imaginary, -z.real))
        return Complex(-result.imaginary, result.real) if back else result

    return turned


def _sigmoid(z: Complex) -> Complex:
    return _reciprocal(_add(exponential(z.map(operator.neg)), 1))


def _power(base: Any, exponent: Any) -> Complex:
    if isinstance(exponent, (int, float)) and exponent == int(exponent) and 1 <= exponent <= 8:
        result = base
        for _ in range(int(exponent) - 1):
            result = _multiply(result, base)
        return result
    dtype = _dtype(base, exponent)
    base = _complex(base, dtype)
    zero = magnitude(base) == 0
    safe = Complex(torch.where(zero, 1, base.real), base.imaginary)
    result = exponential(_multiply(_complex(exponent, dtype), _log(safe)))
    return result.map(lambda part: torch.where(zero, 0, part))


def _product(
    z: Complex, dim: int | None = None, keepdim: bool = False, *, dtype: Any = None
) -> Complex:
    """Multiplies all elements, or those along a dimension, by repeated halving."""
    if dtype is not None:
        z = z.map(torch.Tensor.to, real_dtype(dtype))
    if dim is None:
        z, dim = z.map(torch.reshape, (-1,)), 0
    rank = z.real.dim()
    while (size := z.real.shape[dim] if rank else 1) > 1:
        half = size // 2
        both = _multiply(z.map(torch.narrow, dim, 0, half), z.map(torch.narrow, dim, half, half))
        z = _joined(aten.cat)([both, z.map(torch.narrow, dim, 2 * half, size - 2 * half)], dim)
    if size == 0:
        shape = [1 if axis == dim % rank else n for axis, n in enumerate(z.real.shape)]
        z = _complex(z.real.new_ones(shape), z.dtype)
    return z if keepdim or not rank else z.map(torch.squeeze, dim)


def _running_product(z: Complex, dim: int, *, dtype: torch.dtype | None = None) -> Complex:
    if dtype is not None:
        z = z.map(torch.Tensor.to, real_dtype(dtype))
    if not z.real.dim():
        return z
    return scan(lambda a, b: (_multiply(a[0], b[0]),), (z,), dim)[0]


def _equal(a: Any, b: Any) -> torch.Tensor:
    dtype = _dtype(a, b)
    a, b = _complex(a, dtype), _complex(b, dtype)
    return (a.real == b.real) & (a.imaginary == b.imaginary)


def _where(condition: torch.Tensor, a: Any, b: Any) -> Complex:
    dtype = _dtype(a, b)
    a, b = _complex(a, dtype), _complex(b, dtype)
    return Complex(
        torch.where(condition, a.real, b.real), torch.where(condition, a.imaginary, b.imaginary)
    )


def _joined(target: Callable[..., torch.Tensor]) -> Callable[..., Complex]:
    """Extends an operator on a list of tensors to complex tensors."""

    def join(tensors: list[Any], dim: int = 0) -> Complex:
        dtype = _dtype(*tensors)
        parts = [_complex(tensor, dtype) for tensor in tensors]
        return Complex(
            target([part.real for part in parts], dim),
            target([part.imaginary for part in parts], dim),
        )

    return join


def _part_by_part(target: Callable[..., Any]) -> Callable[..., Any]:
    """Applies a linear operator with real coefficients to both parts of a complex tensor."""

    def apply(z: Complex, *args: Any, **options: Any) -> Any:
        if options.get("dtype") is not None:
            options["dtype"] = real_dtype(options["dtype"])
        real, imaginary = target(z.real, *args, **options), target(z.imaginary, *args, **options)
        if isinstance(real, torch.Tensor):
            return Complex(real, imaginary)
        return [Complex(*parts) for parts in zip(real, imaginary, strict=True)]

    return apply


def _padded(z: Complex, sizes: list[int], value: Any = 0) -> Complex:
    number = complex(value)
    return Complex(
        aten.constant_pad_nd(z.real, sizes, number.real),
        aten.constant_pad_nd(z.imaginary, sizes, number.imag),
    )


def _scattered(target: Callable[..., torch.Tensor]) -> Callable[..., Complex]:
    """Extends an operator that writes one tensor into another to complex tensors."""

    def scatter(into: Any, source: Any, *args: Any, **options: Any) -> Complex:
        dtype = _dtype(into)
        into, source = _complex(into, dtype), _complex(source, dtype)
        return Complex(
            target(into.real, source.real, *args, **options),
            target(into.imaginary, source.imaginary, *args, **options),
        )

    return scatter


def _convolution(x: Any, weight: Any, bias: Any, *rest: Any) -> Complex:
    result = _bilinear(lambda a, b: aten.convolution(a, b, None, *rest))(x, weight)
    if bias is None:
        return result
    bias = _complex(bias, result.dtype)
    shape = (-1, *[1] * (result.real.dim() - 2))
    return _add(result, bias.map(torch.reshape, shape))


def _converted(x: Any, dtype: torch.dtype | None = None, **_options: Any) -> Any:
    if dtype is None:
        return x
    if dtype not in REAL:
        return x.real.to(dtype)
    return _complex(x, REAL[dtype])


def _filled(size: list[int], value: Any, *, dtype: torch.dtype, **_options: Any) -> Complex:
    number = complex(value)
    parts = [torch.full(size, part, dtype=REAL[dtype]) for part in (number.real, number.imag)]
    return Complex(*parts)


def _filled_like(value: Any) -> Callable[..., Complex]:
    def filled(z: Any, *, dtype: torch.dtype | None = None, **_options: Any) -> Any:
        parts = z.real if isinstance(z, Complex) else z
        if dtype is not None and dtype not in REAL:
            return torch.full_like(parts, value, dtype=dtype)
        return _filled(list(parts.shape), value, dtype=dtype or torch.complex(parts, parts).dtype)

    return filled


def _full_like(z: Any, value: Any, **options: Any) -> Complex:
    return _filled_like(value)(z, **options)


def _as_complex(pairs: torch.Tensor) -> Complex:
    return Complex(pairs.select(-1, 0), pairs.select(-1, 1))


def _as_real(z: Complex) -> torch.Tensor:
    return torch.stack([z.real, z.imaginary], -1)


def _norm(z: Complex, *args: Any, **options: Any) -> torch.Tensor:
    if options.get("dtype") is not None:
        options["dtype"] = real_dtype(options["dtype"])
    return aten.linalg_vector_norm(magnitude(z), *args, **options)


def _rms_norm(z: Any, shape: list[int], weight: Any = None, eps: float | None = None) -> Any:
    if not isinstance(z, Complex):
        # Eager ignores the imaginary parts of the weight.
        return aten.rms_norm(z, shape, weight.real, eps)
    # Eager takes the mean of the squares, not of the squared magnitudes.
    square = _part_by_part(aten.mean.dim)(_multiply(z, z), list(range(-len(shape), 0)), True)
    eps = torch.finfo(z.dtype).eps if eps is None else eps
    result = _multiply(z, _reciprocal(square_root(_add(square, eps))))
    return result if weight is None else _multiply(result, weight)


def _either(test: Callable[[torch.Tensor], torch.Tensor]) -> Callable[[Complex], torch.Tensor]:
    return lambda z: test(z.real) | test(z.imaginary)


def _truth(value: Any) -> torch.Tensor:
    """Returns where an operand is not zero. NaN is not zero."""
    if isinstance(value, Complex):
        return (value.real != 0) | (value.imaginary != 0)
    return value != 0


def _variance(z: Complex, *args: Any, **options: Any) -> torch.Tensor:
    variance = aten.var.correction
    return variance(z.real, *args, **options) + variance(z.imaginary, *args, **options)


def _variance_and_mean(z: Complex, dim: Any = None, **options: Any) -> tuple:
    keepdim = options.get("keepdim", False)
    mean = z.map(lambda part: aten.mean.dim(part, dim, keepdim))
    return _variance(z, dim, **options), mean


def _conjugate(z: Complex) -> Complex:
    return Complex(z.real, -z.imaginary)


def _same(z: Complex, **_options: Any) -> Complex:
    return z


def _placed(target: Callable[..., torch.Tensor]) -> Callable[..., Complex]:
    """Extends an operator that writes or adds elements at indices to complex tensors."""

    def place(into: Any, *args: Any, **options: Any) -> Complex:
        into = _complex(into, _dtype(into, *args))

        def part(argument: Any, name: str) -> Any:
            if isinstance(argument, Complex):
                return getattr(argument, name).to(into.dtype)
            if isinstance(argument, torch.Tensor) and argument.is_floating_point():
                return getattr(_complex(argument, into.dtype), name)
            return argument

        return Complex(
            target(into.real, *(part(a, "real") for a in args), **options),
            target(into.imaginary, *(part(a, "imaginary") for a in args), **options),
        )

    return place


def _scatter_reduced(into: Any, *args: Any, **options: Any) -> Complex:
    """Extends `scatter_reduce` to sums of complex numbers. Their products are not part by part."""
    if args[3] != "sum":
        raise NotImplementedError
    return _placed(aten.scatter_reduce)(into, *args, **options)


_LINEAR = (
    *(aten.reshape, aten.expand, aten.permute, aten.transpose),
    *(aten.t, aten.unsqueeze, aten.squeeze, aten.select, aten.slice, aten.flip, aten.roll),
    *(aten.repeat, aten.index_select, aten.gather, aten.index, aten.split, aten.unbind),
    *(aten.split_with_sizes, aten.sum, aten.mean, aten.cumsum, aten.neg, aten.diagonal),
    *(aten.unfold, aten.tril, aten.triu, aten.flatten, aten.unflatten),
)
_PLACING = (aten.scatter, aten.scatter_add, aten.index_put, aten.index_add, aten.index_copy)
_IDENTITY = (
    *(aten.clone, aten.detach, aten.alias, aten.contiguous, aten.resolve_conj, aten.resolve_neg),
    *(aten.lift_fresh_copy,),
)

# Keyed by packet: all overloads of an operator are handled alike.
OPERATORS: dict[torch._ops.OpOverloadPacket, Callable[..., Any]] = {
    **{target: _part_by_part(target) for target in _LINEAR},
    # The parts may have other strides than the complex tensor, so `view` could fail on them.
    **dict.fromkeys((aten.view, aten._unsafe_view), _part_by_part(aten.reshape)),
    **{target: _placed(target) for target in _PLACING},
    aten.scatter_reduce: _scatter_reduced,
    **dict.fromkeys(_IDENTITY, _same),
    **dict.fromkeys((aten._conj, aten.conj, aten._conj_physical, aten.conj_physical), _conjugate),
    aten.add: _add,
    aten.sub: _subtract,
    aten.rsub: _subtract_from,
    aten.mul: _multiply,
    aten.div: _divide,
    aten.reciprocal: _reciprocal,
    **{target: _bilinear(target) for target in (aten.mm, aten.bmm, aten.mv, aten.dot)},
    aten.convolution: _convolution,
    aten.pow: _power,
    aten.prod: _product,
    aten.cumprod: _running_product,
    aten.square: lambda z: _multiply(z, z),
    aten.abs: magnitude,
    aten.angle: _angle,
    aten.sgn: _sign,
    aten.exp: exponential,
    aten.log: _log,
    aten.log2: _log_in_base(2),
    aten.log10: _log_in_base(10),
    aten.log1p: _log1p,
    aten.logaddexp: _logaddexp,
    aten.exp2: lambda z: exponential(z.map(operator.mul, math.log(2))),
    aten.expm1: _expm1,
    aten.sqrt: square_root,
    aten.rsqrt: lambda z: _reciprocal(square_root(z)),
    aten.sinh: hyperbolic_sine,
    aten.cosh: hyperbolic_cosine,
    aten.tanh: hyperbolic_tangent,
    aten.sin: _turned(hyperbolic_sine, back=True),
    aten.cos: _turned(hyperbolic_cosine, back=False),
    aten.tan: _turned(hyperbolic_tangent, back=True),
    aten.asin: arcsine,
    aten.asinh: hyperbolic_arcsine,
    aten.acos: arccosine,
    aten.acosh: hyperbolic_arccosine,
    aten.atan: arctangent,
    aten.atanh: hyperbolic_arctangent,
    aten.sigmoid: _sigmoid,
    aten.ldexp: lambda z, exponent: _multiply(z, _power(2.0, exponent)),
    aten.rms_norm: _rms_norm,
    aten.eq: _equal,
    aten.ne: lambda a, b: ~_equal(a, b),
    aten.where: _where,
    aten.cat: _joined(aten.cat),
    aten.stack: _joined(aten.stack),
    aten.constant_pad_nd: _padded,
    aten.slice_scatter: _scattered(aten.slice_scatter),
    aten.select_scatter: _scattered(aten.select_scatter),
    aten.copy: lambda into, source, **_: _where(torch.ones((), dtype=torch.bool), source, into),
    aten.linalg_vector_norm: _norm,
    aten.isnan: _either(torch.isnan),
    aten.isinf: _either(torch.isinf),
    aten.isfinite: lambda z: torch.isfinite(z.real) & torch.isfinite(z.imaginary),
    aten.all: lambda z, *args: aten.all(_truth(z), *args),
    aten.any: lambda z, *args: aten.any(_truth(z), *args),
    aten.logical_not: lambda z: ~_truth(z),
    aten.logical_and: lambda a, b: _truth(a) & _truth(b),
    aten.logical_or: lambda a, b: _truth(a) | _truth(b),
    aten.logical_xor: lambda a, b: _truth(a) ^ _truth(b),
    aten.var: _variance,
    aten.var_mean: _variance_and_mean,
    aten.real: lambda z: z.real,
    aten.imag: lambda z: z.imaginary,
    aten.view_as_real: _as_real,
    aten.view_as_complex: _as_complex,
    aten.complex: lambda real, imaginary: Complex(*torch.broadcast_tensors(real, imaginary)),
    aten.polar: _polar,
    aten._to_copy: _converted,
    torch.ops.prims.convert_element_type: _converted,
    aten.full: _filled,
    aten.zeros: lambda size, **options: _filled(size, 0, **options),
    aten.ones: lambda size, **options: _filled(size, 1, **options),
    aten.scalar_tensor: lambda value, **options: _filled([], value, **options),
    aten.full_like: _full_like,
    aten.zeros_like: _filled_like(0),
    aten.ones_like: _filled_like(1),
    aten.rand: drawn(torch.rand),
    aten.randn: drawn(torch.randn, HALF_VARIANCE),
    aten.rand_like: drawn_like(torch.rand),
    aten.randn_like: drawn_like(torch.randn, HALF_VARIANCE),
    aten.uniform: uniform,
    aten.normal_functional: normal,
    aten.empty: lambda size, **options: _filled(size, 0, **options),
    aten.empty_like: _filled_like(0),
}
