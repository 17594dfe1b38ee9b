"""Vectorized products and convolutions match eager PyTorch on each kind of processor."""

import pytest
import torch
from torch import nn
from torch.utils import _pytree as pytree

import unmess


def assert_like_eager(module: nn.Module, *args, **capture):
    module.eval()
    run = unmess.load(unmess.capture(module, args, **capture), on="reference")
    with torch.no_grad():
        torch.testing.assert_close(run(*args), module(*args), rtol=1e-5, atol=1e-5)
    return run


class Products(nn.Module):
    """Plain and transposed products of all pairs. One compilation covers many shapes."""

    def forward(self, pairs):
        return [(a @ b, a @ b.mT.contiguous().mT, a.mT.contiguous().mT @ b) for a, b in pairs]


def test_sizes_around_tile_boundaries(always_vectors):
    torch.manual_seed(0)
    pairs = [
        (torch.randn(rows, depth), torch.randn(depth, columns))
        for rows in (1, 2, 8, 9, 17, 40)
        for depth, columns in ((1, 1), (3, 7), (16, 16), (17, 31), (33, 33), (40, 65))
    ]
    assert_like_eager(Products(), pairs)


def test_depth_in_several_panels(always_vectors):
    torch.manual_seed(0)
    # Scaled so that differences due to the order of additions stay small.
    a, b = torch.randn(40, 5000) / 70, torch.randn(5000, 40)
    assert_like_eager(Products(), [(a, b)])


def test_doubles(always_vectors):
    torch.manual_seed(0)
    assert_like_eager(Products(), [(torch.randn(33, 19).double(), torch.randn(19, 21).double())])


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_narrow_types_are_summed_in_single_precision(dtype, always_vectors):
    torch.manual_seed(0)
    x, image = torch.randn(19, 70).to(dtype), torch.randn(1, 5, 20, 21).to(dtype)
    for module, args in (
        (nn.Linear(70, 45), (x,)),
        (nn.Linear(70, 45), (x[:3],)),
        (nn.Conv2d(5, 9, 3), (image,)),
        (Products(), ([(x, x.mT.contiguous())],)),
    ):
        module = module.to(dtype).eval()
        run = unmess.load(unmess.capture(module, args), on="reference")
        with torch.no_grad():
            exact = module.double()(*pytree.tree_map(torch.Tensor.double, args))
        rounded = pytree.tree_map(lambda each: each.to(dtype), exact)
        # Half a unit in the last place, plus the error of single precision.
        unit = torch.finfo(dtype).eps
        torch.testing.assert_close(run(*args), rounded, rtol=unit, atol=unit / 100)


class Batches(nn.Module):
    def forward(self, a, b, c):
        return (
            a @ b,
            a @ c,
            torch.einsum("bhid,bhjd->bhij", a, a),
            torch.einsum("bhid,hde->bie", a, c),
        )


def test_batches(always_vectors):
    torch.manual_seed(0)
    assert_like_eager(
        Batches(), torch.randn(2, 3, 20, 8), torch.randn(2, 3, 8, 21), torch.randn(3, 8, 5)
    )


class Vectors(nn.Module):
    def forward(self, a, b, v):
        return a @ v, v @ b, v @ v, torch.outer(v, v)


def test_vectors(always_vectors):
    torch.manual_seed(0)
    assert_like_eager(Vectors(), torch.randn(50, 40), torch.randn(40, 70), torch.randn(40))


CONVOLUTIONS = {
    "plain": (nn.Conv2d(5, 9, 3, padding=1), (1, 5, 30, 33)),
    "small image": (nn.Conv2d(8, 16, 3, padding=1), (2, 8, 7, 7)),
    "pointwise": (nn.Conv2d(8, 16, 1), (1, 8, 9, 9)),
    "strided": (nn.Conv2d(3, 8, 7, stride=2, padding=3), (1, 3, 64, 64)),
    "strides of different sizes": (nn.Conv2d(3, 8, (3, 2), stride=(2, 3)), (1, 3, 20, 19)),
    "dilated": (nn.Conv2d(4, 8, 3, dilation=2), (1, 4, 33, 35)),
    "grouped": (nn.Conv2d(8, 12, 3, groups=4), (2, 8, 10, 11)),
    "depthwise": (nn.Conv2d(8, 8, 5, groups=8, stride=2), (1, 8, 17, 18)),
    "patches": (nn.Conv2d(3, 20, 8, stride=8), (1, 3, 32, 32)),
    "many channels": (nn.Conv2d(600, 17, 3), (1, 600, 6, 6)),
    "1-d": (nn.Conv1d(4, 8, 5, stride=2), (2, 4, 70)),
    "3-d": (nn.Conv3d(2, 6, 3), (1, 2, 5, 6, 7)),
    "transposed": (nn.ConvTranspose2d(4, 6, 3, stride=2), (1, 4, 8, 9)),
}


@pytest.mark.parametrize("kind", CONVOLUTIONS)
def test_convolution(kind, always_vectors):
    torch.manual_seed(0)
    module, shape = CONVOLUTIONS[kind]
    assert_like_eager(module, torch.randn(shape))


def test_every_size_dynamic(always_vectors):
    class Product(nn.Module):
        def forward(self, a, b):
            return a @ b, a @ b.mT.contiguous().mT

    rows, depth, columns = (
        torch.export.Dim(name, min=2, max=4000) for name in ("rows", "depth", "columns")
    )
    run = assert_like_eager(
        Product(),
        torch.randn(20, 30),
        torch.randn(30, 40),
        dynamic_shapes={"a": {0: rows, 1: depth}, "b": {0: depth, 1: columns}},
    )
    for m, k, n in ((2, 2, 2), (8, 16, 32), (9, 17, 33), (31, 3000, 15)):
        a, b = torch.randn(m, k) / k**0.5, torch.randn(k, n)
        for result in run(a, b):
            torch.testing.assert_close(result, a @ b, rtol=1e-5, atol=1e-5)


def test_errors_are_at_most_twice_those_of_eager():
    """Both errors are relative to float64. The sums are long enough for their order to matter."""
    torch.manual_seed(0)
    linear = nn.Linear(4096, 256).eval()
    x = torch.randn(64, 4096)
    result = unmess.load(unmess.capture(linear, (x,)), on="reference")(x)
    with torch.no_grad():
        exact = nn.functional.linear(x.double(), linear.weight.double(), linear.bias.double())
        eager = (linear(x) - exact).abs().max()
    assert (result - exact).abs().max() <= 2 * eager
