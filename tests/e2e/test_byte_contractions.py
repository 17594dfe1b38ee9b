"""Vectorized products and convolutions of bytes are exact on each kind of processor.

The expected results are those of the operators in PyTorch, which compute in f64.
"""

import functools
import itertools

import torch

import unmess
from importers import integer_operators  # noqa: F401

# With and without terms for rows and for columns.
ZEROS = ((0, 0), (-128, 0), (0, -128), (3, -128), (-7, 5))


def random_bytes(*sizes):
    return torch.randint(-128, 128, sizes, dtype=torch.int8)


def bias(columns):
    """Returns numbers with which some sums overflow."""
    return torch.randint(-(2**31), 2**31 - 1, (columns,), dtype=torch.int32)


class Products(torch.nn.Module):
    def forward(self, plain, transposed):
        multiply = torch.ops.unmess.integer_matmul
        zeros = itertools.cycle(ZEROS)
        return (
            [multiply(a, b, bias, next(zeros)) for a, b, bias in plain],
            [multiply(a, b.mT, None, next(zeros)) for a, b in transposed],
        )


@functools.cache
def products():
    torch.manual_seed(0)
    plain = [
        (random_bytes(rows, depth), random_bytes(depth, columns), bias(columns))
        for rows, depth, columns in (
            (1, 40, 7),
            (4, 1, 1),
            (5, 3, 7),
            (9, 66, 31),
            (33, 130, 130),
            (6, 64, 33),
            (17, 96, 64),
        )
    ]
    transposed = [
        (random_bytes(*batch, rows, depth), random_bytes(*batch, columns, depth))
        for *batch, rows, depth, columns in (
            (5, 1, 1),
            (9, 67, 21),
            (33, 130, 50),
            (17, 64, 16),
            (4, 200, 70),
            (6, 8, 33, 20),
        )
    ]
    # All products are extreme.
    extreme = torch.full((8, 300), -128, dtype=torch.int8)
    plain.append((extreme, extreme.mT.contiguous(), bias(8)))
    module = Products()
    return module, (plain, transposed), unmess.capture(module, (plain, transposed))


class Convolutions(torch.nn.Module):
    def forward(self, operands):
        convolve = torch.ops.unmess.integer_convolution
        zeros = itertools.cycle(ZEROS)
        return [
            convolve(x, weight, bias, next(zeros), *options)
            for (x, weight, bias), options in zip(operands, self.options, strict=True)
        ]


@functools.cache
def convolutions():
    torch.manual_seed(0)
    # Sizes of images and weights, stride, padding, dilation and groups.
    cases = [
        ((1, 8, 20, 21), (9, 8, 3, 3), (1, 1), (1, 1), (1, 1), 1),
        ((2, 5, 20, 37), (6, 5, 3, 3), (2, 2), (1, 1), (1, 1), 1),
        ((1, 3, 40, 41), (8, 3, 7, 7), (2, 2), (3, 3), (1, 1), 1),
        ((1, 6, 9, 70), (7, 6, 1, 1), (1, 1), (0, 0), (1, 1), 1),
        ((1, 64, 14, 14), (16, 64, 1, 1), (2, 2), (0, 0), (1, 1), 1),
        ((1, 12, 7, 7), (20, 12, 3, 3), (1, 1), (1, 1), (1, 1), 1),
        ((1, 7, 15, 40), (5, 7, 3, 2), (1, 1), (2, 2), (2, 3), 1),
        ((2, 8, 12, 33), (12, 4, 3, 3), (1, 1), (1, 1), (1, 1), 2),
        # Neither stride nor size of the window has a panel.
        ((1, 4, 20, 40), (8, 4, 3, 3), (3, 3), (0, 0), (1, 1), 1),
        ((1, 2, 24, 40), (8, 2, 9, 9), (1, 1), (0, 0), (1, 1), 1),
    ]
    operands = [
        (random_bytes(*image), random_bytes(*weight), bias(weight[0]))
        for image, weight, *_ in cases
    ]
    module = Convolutions()
    module.options = [options for _, _, *options in cases]
    return module, (operands,), unmess.capture(module, (operands,))


def assert_exact(module, args, program):
    run = unmess.load(program, on="reference")
    torch.testing.assert_close(run(*args), module(*args), rtol=0, atol=0)


def test_products(always_dots):
    assert_exact(*products())


def test_convolutions(always_dots):
    assert_exact(*convolutions())
