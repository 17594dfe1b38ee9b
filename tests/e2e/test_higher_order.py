"""Modules with FlexAttention, scans and torch.func transformations match eager."""

import functools

import pytest
import torch
from torch._higher_order_ops.associative_scan import associative_scan
from torch._higher_order_ops.scan import scan
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

import unmess


class Flex(torch.nn.Module):
    """FlexAttention with a bias table, a factor for each head, and a mask with an empty row."""

    def __init__(self):
        super().__init__()
        self.bias = torch.nn.Parameter(torch.randn(4, 6, 6))
        self.mask = create_block_mask(
            lambda _b, _h, i, j: (i >= j) & (i != 2), None, None, 6, 6, device="cpu"
        )

    def score(self, score, _b, h, i, j):
        return score + self.bias[h, i, j] - 0.1 * (i - j) * (h + 1)

    def forward(self, q, k, v):
        masked = flex_attention(q, k, v, self.score, self.mask, enable_gqa=True)
        return masked, flex_attention(q, k, v, enable_gqa=True, scale=0.3, return_lse=True)


class Scans(torch.nn.Module):
    def forward(self, x, h):
        def step(carried, row):
            return carried * 0.5 + row, (carried * row).sin()

        def combine(left, right):
            return left[0] * right[0], left[1] * right[0] + right[1]

        few = scan(step, h, x[:3], reverse=True)
        return scan(step, h, x), few, associative_scan(combine, (x, x), 0, combine_mode="generic")


class Transformations(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 3)

    def forward(self, x):
        rows = torch.func.vmap(lambda row: (self.layer(row).tanh() @ row[:3], row.sort().values))
        return torch.func.jvp(lambda y: (y**2).sin(), (x,), (x + 1,)), rows(x)


class Gradient(Transformations):
    def forward(self, x):
        return torch.func.grad(lambda y: self.layer(y).sin().sum())(x)


CASES = {
    "flex": (Flex, (torch.randn(2, 4, 6, 4), torch.randn(2, 2, 6, 4), torch.randn(2, 2, 6, 4))),
    "scans": (Scans, (torch.randn(12, 3), torch.randn(3))),
    "transformations": (Transformations, (torch.randn(2, 4),)),
    "gradient": (Gradient, (torch.randn(2, 4),)),
}


@functools.cache
def captured(name):
    module, args = CASES[name]
    return unmess.capture(module(), args)


@pytest.mark.parametrize("runner", ["reference", "iree-cpu"])
@pytest.mark.parametrize("name", CASES)
def test_matches_eager(name, runner):
    report = unmess.check(captured(name), on=runner, calls=1)
    assert report.ok, report.error


def test_function_that_is_not_element_by_element_is_refused():
    class Reversed(torch.nn.Module):
        def forward(self, q, table):
            return flex_attention(q, q, q, lambda s, _b, h, _i, _j: s + table[h].sum())

    with pytest.raises(unmess.Error, match="not an elementwise operator"):
        unmess.load(unmess.capture(Reversed(), (torch.randn(1, 2, 6, 4), torch.randn(2, 3))))


def test_nested_transforms():
    """TorchDynamo fails on them, and leaves vmap, grad and jvp active."""
    x = torch.arange(6.0).reshape(2, 3)
    second = torch.func.hessian(lambda y: y.pow(3).sum())
    torch.testing.assert_close(unmess.load(unmess.capture(second, (x,)))(x), second(x))
    # The next capture works.
    torch.testing.assert_close(unmess.load(unmess.capture(torch.sin, (x,)))(x), torch.sin(x))
