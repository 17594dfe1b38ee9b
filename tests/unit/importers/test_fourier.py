"""Compares Fourier transforms as matrix products with PyTorch's, in float64."""

import pytest
import torch

from importers.repairs import fourier
from importers.repairs.complex_operators import Complex

# One element, direct transforms, 606 = 2·3·101 and 1024 by factors, and a prime by convolution.
SIZES = (1, 2, 7, 12, 606, 1024, 1031)


def make_constant(_name, make):
    return make()


def pair(z):
    return Complex(z.real, z.imag)


def joined(z):
    return torch.complex(z.real, z.imaginary)


def assert_close(actual, expected):
    torch.testing.assert_close(actual, expected, rtol=0, atol=1e-12 * expected.abs().max().item())


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("forward", [True, False])
def test_complex_to_complex(size, forward):
    z = torch.randn(2, size, dtype=torch.complex128, generator=torch.Generator().manual_seed(size))
    expected = torch.ops.aten._fft_c2c(z, [1], 0, forward)
    assert_close(
        joined(fourier.complex_to_complex(make_constant, pair(z), [1], 0, forward)), expected
    )


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("onesided", [True, False])
def test_real_to_complex(size, onesided):
    x = torch.randn(size, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(size))
    expected = torch.ops.aten._fft_r2c(x, [0], 1, onesided)
    result = fourier.real_to_complex(make_constant, x, [0], 1, onesided)
    assert_close(joined(result), expected)


@pytest.mark.parametrize("size", SIZES)
def test_complex_to_real(size):
    """Imaginary parts that the half spectrum of a real signal cannot have are ignored."""
    generator = torch.Generator().manual_seed(size)
    z = torch.randn(2, size // 2 + 1, dtype=torch.complex128, generator=generator)
    expected = torch.ops.aten._fft_c2r(z, [1], 2, size)
    assert_close(fourier.complex_to_real(make_constant, pair(z), [1], 2, size), expected)


def test_several_dimensions():
    x = torch.randn(2, 6, 5, dtype=torch.float64)
    spectrum = fourier.real_to_complex(make_constant, x, [0, 1, 2], 0, True)
    assert_close(joined(spectrum), torch.fft.rfftn(x))
    back = fourier.complex_to_real(make_constant, spectrum, [0, 1, 2], 2, 5)
    assert_close(back, x)
