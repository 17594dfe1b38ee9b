"""Discrete Fourier transforms as products with matrices of cosines and sines.

A transform of more than `_DIRECT` elements is split into two shorter ones (Cooley and Tukey). One
of prime length becomes a convolution (Bluestein). No matrix has more than `_DIRECT` rows. The
matrices are constants of the program, computed in float64.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch

from importers.repairs.complex_operators import OPERATORS, Complex, real_dtype

# The longest transform that is one product: its two matrices have 1 MB each in f32.
_DIRECT = 512

# Returns the constant of a name; calls the function if there is none yet.
Constant = Callable[[str, Callable[[], torch.Tensor]], torch.Tensor]

_multiply = OPERATORS[torch.ops.aten.mul]


def complex_to_complex(
    constant: Constant, z: Complex, dims: Sequence[int], normalization: int, forward: bool
) -> Complex:
    """Computes `aten._fft_c2c`."""
    result = z
    for dim in dims:
        result = _along(dim, result, lambda part: _transform(constant, part, forward))
    return _scaled(result, [z.real.shape[dim] for dim in dims], normalization)


def real_to_complex(
    constant: Constant, x: torch.Tensor, dims: Sequence[int], normalization: int, onesided: bool
) -> Complex:
    """Computes `aten._fft_r2c`. `onesided` keeps n // 2 + 1 elements along the last of `dims`."""
    *others, last = dims
    kept = x.shape[last] // 2 + 1 if onesided else x.shape[last]

    def transform(part: Complex) -> Complex:
        return _transform(constant, part, True, kept)

    result = _along(last, Complex(x, None), transform)
    for dim in others:
        result = _along(dim, result, lambda part: _transform(constant, part, True))
    return _scaled(result, [x.shape[dim] for dim in dims], normalization)


def complex_to_real(
    constant: Constant, z: Complex, dims: Sequence[int], normalization: int, last_size: int
) -> torch.Tensor:
    """Computes `aten._fft_c2r`: inverts a one-sided transform, to `last_size` elements."""
    *others, last = dims
    result = z
    for dim in others:
        result = _along(dim, result, lambda part: _transform(constant, part, False))
    result = _along(last, result, lambda part: _to_real(constant, part, last_size))
    sizes = [*(z.real.shape[dim] for dim in others), last_size]
    return _scaled(result, sizes, normalization).real


def _along(dim: int, z: Complex, transform: Callable[[Complex], Complex]) -> Complex:
    """Applies `transform`, which works on the last dimension, to `dim`. A part of None is zero."""

    def moved(part: torch.Tensor | None) -> torch.Tensor | None:
        return None if part is None else part.transpose(dim, -1)

    result = transform(Complex(moved(z.real), moved(z.imaginary)))
    return Complex(moved(result.real), moved(result.imaginary))


def _scaled(z: Complex, sizes: list[int], normalization: int) -> Complex:
    """Applies PyTorch's `fft_norm_mode` for n elements: 0 is none, 1 is 1/sqrt(n), 2 is 1/n."""
    count = math.prod(sizes)
    if normalization == 0:
        return z
    factor = 1 / (math.sqrt(count) if normalization == 1 else count)
    imaginary = None if z.imaginary is None else z.imaginary * factor
    return Complex(z.real * factor, imaginary)


def _transform(constant: Constant, z: Complex, forward: bool, kept: int | None = None) -> Complex:
    """Returns the first `kept` elements of the transform along the last dimension."""
    size = z.real.shape[-1]
    if size <= _DIRECT:
        return _direct(constant, z, forward, size if kept is None else kept)
    factor = _factor(size)
    if factor == 1:
        if z.imaginary is None:
            z = Complex(z.real, torch.zeros_like(z.real))
        result = _by_convolution(constant, z, forward)
    else:
        result = _by_factors(constant, z, forward, factor, size // factor)
    return result if kept is None else result.map(lambda part: part[..., :kept])


def _direct(constant: Constant, z: Complex, forward: bool, kept: int) -> Complex:
    size, dtype = z.real.shape[-1], z.real.dtype
    cosines = constant(*_wave("cos", size, kept, dtype))
    sines = constant(*_wave("sin", size, kept, dtype))
    sign = -1 if forward else 1
    real, imaginary = _product(z.real, cosines), sign * _product(z.real, sines)
    if z.imaginary is not None:
        real = real - sign * _product(z.imaginary, sines)
        imaginary = imaginary + _product(z.imaginary, cosines)
    return Complex(real, imaginary)


def _product(x: torch.Tensor, matrix: torch.Tensor) -> torch.Tensor:
    """Multiplies rows by a matrix: `matmul` would repeat it for each matrix of a transposed `x`."""
    return (x.reshape(-1, x.shape[-1]) @ matrix).reshape(*x.shape[:-1], matrix.shape[-1])


def _by_factors(constant: Constant, z: Complex, forward: bool, a: int, b: int) -> Complex:
    """Transforms length a·b in two steps. Input index: j1·b + j2; output index: k1 + a·k2."""
    dtype = z.real.dtype

    def split(part: torch.Tensor | None) -> torch.Tensor | None:
        return None if part is None else part.reshape(*part.shape[:-1], a, b).transpose(-1, -2)

    rows = _transform(constant, Complex(split(z.real), split(z.imaginary)), forward)
    sign = -1 if forward else 1
    twiddle = Complex(
        constant(*_twiddle("cos", a, b, dtype)), sign * constant(*_twiddle("sin", a, b, dtype))
    )
    columns = _multiply(rows, twiddle).map(lambda part: part.transpose(-1, -2))
    columns = _transform(constant, columns, forward)
    return columns.map(lambda part: part.transpose(-1, -2).reshape(*part.shape[:-2], a * b))


def _by_convolution(constant: Constant, z: Complex, forward: bool) -> Complex:
    """Transforms a prime length n by a convolution of length 2^k ≥ 2n - 1 (Bluestein).

    The chirp is w[j] = exp(-πi j²/n).
    """
    size, dtype = z.real.shape[-1], z.real.dtype
    padded = 1 << (2 * size - 2).bit_length()
    sign = 1 if forward else -1
    name = f"dft_chirp_{size}_{_short(dtype)}"

    def part(kind: str, take: Callable[[], torch.Tensor], factor: int = 1) -> torch.Tensor:
        return factor * constant(f"{name}_{kind}", lambda: take().to(dtype))

    chirp = Complex(
        part("cos", lambda: _chirp(size).real),
        part("sin", lambda: _chirp(size).imag, sign),
    )
    # The transform of the conjugate chirp. The inverse uses its conjugate: the kernel is symmetric.
    kernel = Complex(
        part("kernel_real", lambda: _chirp_kernel(size, padded).real),
        part("kernel_imaginary", lambda: _chirp_kernel(size, padded).imag, sign),
    )
    modulated = _multiply(z, chirp).map(
        lambda value: torch.nn.functional.pad(value, (0, padded - size))
    )
    product = _multiply(_transform(constant, modulated, True), kernel)
    result = _transform(constant, product, False)
    result = result.map(lambda value: value[..., :size] / padded)
    return _multiply(result, chirp)


def _to_real(constant: Constant, z: Complex, size: int) -> Complex:
    """Inverts the half spectrum along the last dimension. The imaginary part is None."""
    half, dtype = size // 2 + 1, z.real.dtype
    given = z.real.shape[-1]
    z = z.map(lambda part: part[..., :half])
    if given < half:
        z = z.map(lambda part: torch.nn.functional.pad(part, (0, half - given)))
    if size <= _DIRECT:
        cosines = constant(*_inverse_wave("cos", size, dtype))
        sines = constant(*_inverse_wave("sin", size, dtype))
        return Complex(_product(z.real, cosines) - _product(z.imaginary, sines), None)
    # Ignore the imaginary parts of element 0 and, for an even size, of the middle element.
    inner = slice(1, (size + 1) // 2)
    real = torch.cat([z.real, z.real[..., inner].flip(-1)], -1)
    ends = torch.zeros_like(z.imaginary[..., :1])
    middle = [ends] if size % 2 == 0 else []
    waves = z.imaginary[..., inner]
    imaginary = torch.cat([ends, waves, *middle, -waves.flip(-1)], -1)
    return Complex(_transform(constant, Complex(real, imaginary), False).real, None)


def _factor(size: int) -> int:
    """Returns the largest divisor up to the square root; 1 for a prime."""
    return next(d for d in range(math.isqrt(size), 0, -1) if size % d == 0)


def _short(dtype: torch.dtype) -> str:
    return f"f{8 * real_dtype(dtype).itemsize}"


def _angles(rows: int, columns: int, size: int) -> torch.Tensor:
    """Returns 2π j k / size as float64 `[rows, columns]`, with j k reduced modulo `size` first."""
    product = torch.outer(torch.arange(rows), torch.arange(columns)) % size
    return product.to(torch.float64) * (2 * math.pi / size)


def _function(kind: str) -> Callable[[torch.Tensor], torch.Tensor]:
    return torch.cos if kind == "cos" else torch.sin


def _wave(kind: str, size: int, kept: int, dtype: torch.dtype):
    name = f"dft_{kind}_{size}x{kept}_{_short(dtype)}"
    return name, lambda: _function(kind)(_angles(size, kept, size)).to(dtype)


def _inverse_wave(kind: str, size: int, dtype: torch.dtype):
    """Returns a `[half, size]` matrix. Elements with a conjugate twin in the spectrum weigh 2."""

    def make() -> torch.Tensor:
        weights = torch.full((size // 2 + 1, 1), 2.0, dtype=torch.float64)
        weights[0] = 1
        if size % 2 == 0:
            weights[-1] = 1
        return (weights * _function(kind)(_angles(size // 2 + 1, size, size))).to(dtype)

    return f"dft_inverse_{kind}_{size}_{_short(dtype)}", make


def _twiddle(kind: str, a: int, b: int, dtype: torch.dtype):
    """Returns the twiddle factors `[b, a]`: rows are j2, columns are k1."""
    name = f"dft_twiddle_{kind}_{a}x{b}_{_short(dtype)}"
    return name, lambda: _function(kind)(_angles(b, a, a * b)).to(dtype)


def _chirp(size: int) -> torch.Tensor:
    """Returns exp(-πi j²/n) in complex128, with j² reduced modulo 2n as an integer."""
    squares = (torch.arange(size) ** 2 % (2 * size)).to(torch.float64)
    return torch.polar(torch.ones(size, dtype=torch.float64), squares * (-math.pi / size))


def _chirp_kernel(size: int, padded: int) -> torch.Tensor:
    chirp = _chirp(size).conj()
    wrapped = torch.zeros(padded, dtype=torch.complex128)
    wrapped[:size] = chirp
    wrapped[padded - size + 1 :] = chirp[1:].flip(0)
    return torch.fft.fft(wrapped)
