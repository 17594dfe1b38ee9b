"""Convolutions and matrix products of dynamic size, which iree-cpu computes in tiles."""

import pytest
import torch
from torch import nn

import unmess

DYNAMIC = torch.export.Dim.DYNAMIC


class Branches(nn.Module):
    """Applies each layer to the same input."""

    def __init__(self, layers):
        super().__init__()
        self.layers = nn.ModuleList(layers)

    def forward(self, x):
        return [layer(x) for layer in self.layers]


# Windows, strides, dilations, and numbers of filters that fill no vector.
IMAGES = [
    nn.Conv2d(3, 16, 3, padding=1),
    nn.Conv2d(3, 20, 7, stride=2, padding=3, bias=False),
    nn.Conv2d(3, 70, (2, 5), stride=(1, 3), dilation=(2, 1)),
    nn.Conv2d(3, 1, (5, 1), dilation=(1, 2)),
    nn.Conv2d(3, 32, 1, stride=2),
    nn.Conv2d(3, 3, 1),
]
LINES = [
    nn.Conv1d(8, 16, 3, padding=1),
    nn.Conv1d(8, 20, 11, dilation=5, padding=25),
    nn.Conv1d(8, 1, 4, stride=3, bias=False),
    nn.Conv1d(8, 48, 1),
    nn.ConvTranspose1d(8, 16, 8, stride=4, padding=2),
]
# The layers, the dynamic axes, and the shapes of inputs; the first one is captured.
CASES = {
    "height and width": (IMAGES, (2, 3), [(1, 3, 31, 57), (1, 3, 23, 8), (1, 3, 64, 121)]),
    "number, height and width": (IMAGES, (0, 2, 3), [(2, 3, 31, 57), (5, 3, 23, 23)]),
    "height": (IMAGES, (2,), [(2, 3, 31, 40), (2, 3, 64, 40)]),
    "length": (LINES, (2,), [(1, 8, 100), (1, 8, 64), (1, 8, 333)]),
    "number and length": (LINES, (0, 2), [(2, 8, 100), (3, 8, 61)]),
    "rows": (
        [nn.Linear(24, columns) for columns in (1, 16, 48, 64, 96, 100)],
        (0,),
        [(7, 24), (2, 24), (8, 24), (33, 24)],
    ),
    "rows of matrices": ([nn.Linear(33, 64, bias=False)], (0, 1), [(2, 5, 33), (3, 7, 33)]),
}


@pytest.mark.parametrize("case", CASES)
def test_tiles(case):
    layers, axes, shapes = CASES[case]
    model = Branches(layers).eval()
    example = torch.randn(shapes[0])
    program = unmess.capture(model, (example,), dynamic_shapes=(dict.fromkeys(axes, DYNAMIC),))
    run = unmess.load(program, on="iree-cpu")
    assert run.preset == "dynamic-tiles", run.notes
    for shape in shapes:
        x = torch.randn(shape)
        torch.testing.assert_close(run(x), model(x), rtol=1e-5, atol=2e-5)


def test_infinities_stay_in_their_windows():
    """Rows and columns that fill tiles are zeros, which must not reach a result."""
    model = Branches(IMAGES[:3]).eval()
    x = torch.randn(1, 3, 31, 57)
    x[0, 1, 3, -1], x[0, 2, 30, 5] = torch.inf, torch.nan
    program = unmess.capture(model, (x,), dynamic_shapes=({2: DYNAMIC, 3: DYNAMIC},))
    run = unmess.load(program, on="iree-cpu")
    torch.testing.assert_close(run(x), model(x), rtol=1e-5, atol=2e-5, equal_nan=True)


def test_a_cpu_with_16_vector_registers():
    model = Branches([IMAGES[0], IMAGES[4]]).eval()
    program = unmess.capture(
        model, (torch.randn(1, 3, 31, 57),), dynamic_shapes=({2: DYNAMIC, 3: DYNAMIC},)
    )
    target = unmess.TargetOptions(cpu="haswell")
    run = unmess.load(program, on="iree-cpu", target=target)
    assert run.preset == "dynamic-tiles", run.notes
    x = torch.randn(1, 3, 40, 41)
    torch.testing.assert_close(run(x), model(x), rtol=1e-5, atol=2e-5)
