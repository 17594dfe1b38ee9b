"""Vectorized products and convolutions match eager PyTorch on each kind of processor.

Each program is captured once, for all kinds of processors.
"""

import copy
import functools

import pytest
import torch
from torch import nn
from torch.utils import _pytree as pytree

import unmess


def captured(module: nn.Module, *args, **capture):
    module.eval()
    return module, args, unmess.capture(module, args, **capture)


def assert_like_eager(module, args, program):
    run = unmess.load(program, on="reference")
    with torch.no_grad():
        torch.testing.assert_close(run(*args), module(*args), rtol=1e-5, atol=1e-5)
    return run


class Products(nn.Module):
    """Plain and transposed products of all pairs. One compilation covers many shapes."""

    def forward(self, pairs):
        return [(a @ b, a @ b.mT.contiguous().mT, a.mT.contiguous().mT @ b) for a, b in pairs]


@functools.cache
def products_around_tile_boundaries():
    torch.manual_seed(0)
    pairs = [
        (torch.randn(rows, depth), torch.randn(depth, columns))
        for rows in (1, 2, 8, 9, 17, 40)
        for depth, columns in ((1, 1), (3, 7), (16, 16), (17, 31), (33, 33), (40, 65), (100, 50))
    ]
    return captured(Products(), pairs)


def test_sizes_around_tile_boundaries(always_vectors):
    assert_like_eager(*products_around_tile_boundaries())


@functools.cache
def products_of_integers():
    torch.manual_seed(0)
    # Sums overflow, as in eager.
    pairs = [
        tuple(torch.randint(-(2**31), 2**31 - 1, size, dtype=torch.int32) for size in sizes)
        for sizes in (((5, 7), (7, 3)), ((9, 33), (33, 31)), ((40, 17), (17, 65)), ((2, 1), (1, 1)))
    ]
    return captured(Products(), pairs)


def test_products_of_integers(always_vectors):
    assert_like_eager(*products_of_integers())


@functools.cache
def products_in_several_panels():
    torch.manual_seed(0)
    # Scaled so that differences due to the order of additions stay small.
    a, b = torch.randn(40, 5000) / 70, torch.randn(5000, 40)
    return captured(Products(), [(a, b)])


def test_depth_in_several_panels(always_vectors):
    assert_like_eager(*products_in_several_panels())


@functools.cache
def layers_with_large_weights():
    """The right operands are prefetched. Rows, columns and steps are no multiples of tiles."""
    torch.manual_seed(0)
    pairs = [
        (torch.randn(rows, depth) / 20, torch.randn(depth, columns))
        for rows, depth, columns in ((67, 530, 301), (197, 401, 350))
    ]
    return captured(Products(), pairs)


def test_large_weights(always_vectors):
    assert_like_eager(*layers_with_large_weights())


@functools.cache
def products_of_doubles():
    torch.manual_seed(0)
    return captured(Products(), [(torch.randn(33, 19).double(), torch.randn(19, 21).double())])


def test_doubles(always_vectors):
    assert_like_eager(*products_of_doubles())


@functools.cache
def narrow(dtype):
    """Returns modules of a narrow type, their arguments, their programs, and exact results."""
    torch.manual_seed(0)
    x, image = torch.randn(19, 70).to(dtype), torch.randn(1, 5, 20, 21).to(dtype)
    found = []
    for module, args in (
        (nn.Linear(70, 45), (x,)),
        (nn.Linear(70, 45), (x[:3],)),
        (nn.Conv2d(5, 9, 3), (image,)),
        (Products(), ([(x, x.mT.contiguous())],)),
    ):
        module, _, program = captured(module.to(dtype), *args)
        with torch.no_grad():
            exact = copy.deepcopy(module).double()(*pytree.tree_map(torch.Tensor.double, args))
        found.append((args, program, pytree.tree_map(lambda each: each.to(dtype), exact)))
    return found


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_narrow_types_are_summed_in_single_precision(dtype, always_vectors):
    for args, program, rounded in narrow(dtype):
        run = unmess.load(program, on="reference")
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


@functools.cache
def batches():
    torch.manual_seed(0)
    return captured(
        Batches(), torch.randn(2, 3, 20, 8), torch.randn(2, 3, 8, 21), torch.randn(3, 8, 5)
    )


def test_batches(always_vectors):
    assert_like_eager(*batches())


class Vectors(nn.Module):
    def forward(self, a, b, v):
        return a @ v, v @ b, v @ v, torch.outer(v, v)


@functools.cache
def vectors():
    torch.manual_seed(0)
    return captured(Vectors(), torch.randn(50, 40), torch.randn(40, 70), torch.randn(40))


def test_vectors(always_vectors):
    assert_like_eager(*vectors())


CONVOLUTIONS = {
    "plain": (nn.Conv2d(5, 9, 3, padding=1), (1, 5, 30, 33)),
    "small image": (nn.Conv2d(8, 16, 3, padding=1), (2, 8, 7, 7)),
    "last columns": (nn.Conv2d(70, 40, 3, padding=1), (2, 70, 7, 7)),
    "last columns of rows": (nn.Conv2d(9, 34, 3, padding=1), (1, 9, 30, 35)),
    "pointwise": (nn.Conv2d(8, 16, 1), (1, 8, 9, 9)),
    # Tiles have three registers for each row.
    "pointwise, many channels": (nn.Conv2d(300, 20, 1), (2, 300, 8, 10)),
    # All pixels of the image share a panel.
    "pointwise, large filters": (nn.Conv2d(270, 500, 1), (1, 270, 7, 7)),
    "strided": (nn.Conv2d(3, 8, 7, stride=2, padding=3), (1, 3, 64, 64)),
    # The copy of a row of 15 columns writes 16, also in a panel of 480 columns, 15 tiles of 32.
    "odd rows": (nn.Conv2d(3, 20, 3, padding=1), (1, 3, 32, 15)),
    "every second column": (nn.Conv2d(4, 20, 3, stride=2, padding=1), (1, 4, 31, 29)),
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


@functools.cache
def convolution(kind):
    torch.manual_seed(0)
    module, shape = CONVOLUTIONS[kind]
    return captured(module, torch.randn(shape))


@pytest.mark.parametrize("kind", CONVOLUTIONS)
def test_convolution(kind, always_vectors):
    assert_like_eager(*convolution(kind))


class Product(nn.Module):
    def forward(self, a, b):
        return a @ b, a @ b.mT.contiguous().mT


@functools.cache
def product_of_dynamic_sizes():
    rows, depth, columns = (
        torch.export.Dim(name, min=2, max=4000) for name in ("rows", "depth", "columns")
    )
    return captured(
        Product(),
        torch.randn(20, 30),
        torch.randn(30, 40),
        dynamic_shapes={"a": {0: rows, 1: depth}, "b": {0: depth, 1: columns}},
    )


def test_every_size_dynamic(always_vectors):
    run = assert_like_eager(*product_of_dynamic_sizes())
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
