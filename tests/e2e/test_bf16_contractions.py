"""Products and convolutions of bf16 are right on each kind of processor that multiplies bf16.

The expected results are sums of exact products in float64. Numbers have four significant bits, so
that all sums in f32 are exact, and only the rounding of the result to bf16 remains.
"""

import functools

import pytest
import torch
import torch.nn.functional as F

import unmess


def numbers(*sizes):
    return torch.randint(-8, 9, sizes).bfloat16() / 4


class Products(torch.nn.Module):
    def forward(self, plain, layers):
        return [a @ b for a, b in plain], [F.linear(x, *parameters) for x, *parameters in layers]


@functools.cache
def products():
    torch.manual_seed(0)
    # Rows, depths and columns: whole tiles of 16x32 and 32x16, and parts of tiles.
    plain = [
        (numbers(*batch, rows, depth), numbers(*batch, depth, columns))
        for *batch, rows, depth, columns in (
            (32, 64, 32),
            (16, 1, 40),
            (17, 33, 33),
            (40, 95, 7),
            (129, 600, 48),
            (3, 31, 66, 100),
        )
    ]
    layers = [
        (numbers(2, rows, depth), numbers(columns, depth), numbers(columns))
        for rows, depth, columns in ((16, 64, 32), (21, 47, 70), (50, 130, 17))
    ]
    module = Products()
    return module, (plain, layers)


class Convolutions(torch.nn.Module):
    def forward(self, operands):
        return [
            F.conv2d(x, weight, bias, *options)
            for (x, weight, bias), options in zip(operands, self.options, strict=True)
        ]


@functools.cache
def convolutions():
    torch.manual_seed(0)
    # Sizes of images and weights, stride, padding, dilation and groups.
    cases = [
        ((1, 16, 20, 21), (32, 16, 3, 3), 1, 1, 1, 1),
        ((2, 5, 20, 37), (16, 5, 3, 3), 2, 1, 1, 1),
        ((1, 3, 40, 41), (24, 3, 7, 7), 2, 3, 1, 1),
        ((1, 64, 14, 14), (48, 64, 1, 1), 2, 0, 1, 1),
        ((1, 7, 15, 40), (20, 7, 3, 2), 1, 2, (2, 3), 1),
        ((2, 32, 12, 33), (64, 16, 3, 3), 1, 1, 1, 2),
    ]
    operands = [
        (numbers(*image), numbers(*weight), numbers(weight[0])) for image, weight, *_ in cases
    ]
    module = Convolutions()
    module.options = [options for _, _, *options in cases]
    return module, (operands,)


def wide(tree):
    return torch.utils._pytree.tree_map(torch.Tensor.double, tree)


@pytest.mark.parametrize("program", [products, convolutions])
def test_results_are_exact(program, always_bf16):
    module, args = program()
    run = unmess.load(unmess.capture(module, args), on="reference")
    expected = torch.utils._pytree.tree_map(torch.Tensor.bfloat16, module(*wide(args)))
    torch.testing.assert_close(run(*args), expected, rtol=0, atol=0)


@pytest.mark.parametrize("count", [2, 15, 16, 33, 70])
def test_dynamic_rows(count, always_bf16):
    torch.manual_seed(0)
    layer = torch.nn.Linear(40, 50, dtype=torch.bfloat16)
    x = numbers(count, 40)
    rows = torch.export.Dim.DYNAMIC
    program = unmess.capture(layer, (numbers(20, 40),), dynamic_shapes=({0: rows},))
    run = unmess.load(program, on="reference")
    expected = F.linear(x.double(), layer.weight.double(), layer.bias.double())
    torch.testing.assert_close(run(x).double(), expected, rtol=2**-8, atol=1e-4)


def test_an_infinity_stays_in_its_row(always_bf16):
    # Zeros that fill up tiles must not meet it, and stale memory must not meet zeros.
    x, y = numbers(35, 71), numbers(71, 37)
    x[3, 70], x[34, 5] = float("inf"), float("nan")
    program = unmess.capture(Products(), ([(x, y)], []))
    run = unmess.load(program, on="reference")
    ((result,), _) = run([(x, y)], [])
    others = [row for row in range(35) if row not in (3, 34)]
    expected = (x[others].double() @ y.double()).bfloat16()
    torch.testing.assert_close(result[others], expected, rtol=0, atol=0)
    assert not result[3].isfinite().any() or y[70].eq(0).any()
    assert result[34].isnan().all()
