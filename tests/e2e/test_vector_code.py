"""Products and convolutions that are large enough for the reference runner's vector code."""

import pytest
import torch
from torch.utils import _pytree as pytree

import unmess

# Channels, filters, image size, window, stride, groups.
CONVOLUTIONS = (
    (64, 64, 56, 3, 1, 64),  # one filter per channel
    (96, 96, 28, 5, 2, 96),
    (64, 64, 56, 3, 1, 1),  # a panel of two rows of the image
    (128, 96, 28, 3, 1, 1),  # a panel of four rows
    (32, 48, 31, 5, 1, 1),  # rows of no even number of registers
    (64, 128, 31, 1, 1, 1),  # a product of matrices
    (512, 320, 14, 1, 1, 1),  # a panel of the whole image
    (256, 64, 7, 3, 1, 1),  # a sum of several blocks
    (24, 16, 64, 3, 1, 1),  # few filters, which read the image in place
    (128, 16, 32, 3, 1, 1),  # few filters, and a long sum
    (3, 32, 112, 7, 2, 1),
    (64, 128, 28, 1, 2, 1),
)


class Layers(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.convolutions = torch.nn.ModuleList(
            # Those with a bias add to the bias, and the others start at zero.
            torch.nn.Conv2d(
                channels, filters, window, stride, window // 2, groups=groups, bias=window == 7
            )
            for channels, filters, _, window, stride, groups in CONVOLUTIONS
        )
        self.linear = torch.nn.Linear(1536, 200, bias=False)

    def forward(self, images, rows):
        results = [
            convolution(image) for convolution, image in zip(self.convolutions, images, strict=True)
        ]
        # Two products of the same shape, and operations in place.
        wide = self.linear(rows)
        return [torch.relu(x) for x in results], wide, (rows[:, :200] * 0.5 + wide) @ wide.mT


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_products_and_convolutions(threads):
    """Each result matches float64. Nothing that memory held before affects it."""
    model = Layers().eval()
    images = [torch.randn(2, channels, size, size) for channels, _, size, *_ in CONVOLUTIONS]
    rows = torch.randn(150, 1536)
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        run = unmess.load(unmess.capture(model, (images, rows)), on="reference")
        # Temporaries of this call hold NaN, and the next call uses the same memory.
        run(
            [torch.full_like(image, torch.nan) for image in images],
            torch.full_like(rows, torch.nan),
        )
        results = pytree.tree_leaves(run(images, rows))
    finally:
        torch.set_num_threads(before)
    with torch.no_grad():
        exact = model.double()([image.double() for image in images], rows.double())
    for result, expected in zip(results, pytree.tree_leaves(exact), strict=True):
        error = (result - expected).abs().max() / expected.abs().max()
        assert error < 1e-6


class Rows(torch.nn.Module):
    """Elementwise operations on rows, with a number for each row."""

    def forward(self, rows, numbers, integers):
        results = []
        for x, n, i in zip(rows, numbers, integers, strict=True):
            scaled = (x - n) / (n.abs() + 1)
            chosen = torch.where(i > 3, scaled, x.abs()).clamp(max=2)
            results += [chosen, (i * 3 - i.shape[1]) ^ 5, (chosen * i).bfloat16().float()]
        return results


@pytest.mark.parametrize(
    "dtypes", [("float32", "int32"), ("float64", "int64"), ("float32", "int64")]
)
def test_elementwise_rows_of_every_length(dtypes):
    """The elements behind the last whole vector are those of eager, bit by bit, NaN included."""
    real, whole = (getattr(torch, name) for name in dtypes)
    rows = [torch.randn(9, length).to(real) for length in range(1, 40)]
    for x in rows:
        x[0, -1] = torch.nan
    numbers = [torch.randn(9, 1).to(real) for _ in rows]
    integers = [torch.randint(-9, 9, x.shape).to(whole) for x in rows]
    run = unmess.load(unmess.capture(Rows(), (rows, numbers, integers)), on="reference")
    for result, expected in zip(
        run(rows, numbers, integers), Rows()(rows, numbers, integers), strict=True
    ):
        torch.testing.assert_close(result, expected, rtol=0, atol=0, equal_nan=True)
