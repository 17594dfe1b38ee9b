"""Image networks on iree-cpu, with convolutions in NHWC, match eager."""

import functools
import itertools

import pytest
import torch
from torch import nn
from torch.nn.functional import interpolate

import unmess


class InvertedResidual(nn.Module):
    """A depthwise convolution, a batch norm, and a gate for each channel."""

    def __init__(self):
        super().__init__()
        self.expand = nn.Sequential(nn.Conv2d(6, 16, 1, bias=False), nn.BatchNorm2d(16), nn.SiLU())
        self.depthwise = nn.Conv2d(16, 16, 5, 1, 2, groups=16)
        self.gate = nn.Sequential(
            nn.AdaptiveAvgPool2d(1), nn.Conv2d(16, 4, 1), nn.ReLU(), nn.Conv2d(4, 16, 1)
        )
        self.project = nn.Conv2d(16, 6, 1)

    def forward(self, x):
        y = self.depthwise(self.expand(x))
        return x + self.project(y * torch.sigmoid(self.gate(y)))


class Bottleneck(nn.Module):
    """A strided shortcut, and max and average pooling."""

    def __init__(self):
        super().__init__()
        self.shortcut = nn.Conv2d(6, 8, 1, (2, 3))
        self.branch = nn.Conv2d(6, 8, 3, (2, 3), 1)

    def forward(self, x):
        y = torch.relu(self.shortcut(x) + self.branch(x))
        maximum = nn.functional.max_pool2d(y, 3, 1, 1)
        mean = nn.functional.avg_pool2d(y, 3, 1, 1, count_include_pad=False)
        return y, maximum, mean


class Branches(nn.Module):
    """Splits and concatenates an image, and shuffles its channels."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Conv2d(3, 4, 3, padding=1), nn.Conv2d(6, 5, (1, 3))
        self.grouped = nn.Conv2d(8, 8, 3, groups=4)
        self.bare = nn.Conv2d(8, 12, (3, 2), (2, 1), (1, 2), (1, 2), groups=4, bias=False)

    def forward(self, x):
        left, right = x.chunk(2, 1)
        joined = torch.cat([self.first(left), self.first(right)], 1)
        n, c, h, w = joined.shape
        shuffled = joined.view(n, 2, c // 2, h, w).transpose(1, 2).reshape(n, c, h, w)
        return (
            self.grouped(self.bare(shuffled)[:, 2:10]),
            self.second(x)[:, 1:, ::2, 1:],
            joined.argmax(1),
        )


class Windows(nn.Module):
    """One-dimensional windows, prime widths, and results of a single pixel."""

    def __init__(self):
        super().__init__()
        self.tall, self.flat = nn.Conv2d(6, 4, (7, 1), padding=(3, 0)), nn.Conv2d(4, 5, (1, 3))
        self.prime = nn.Conv2d(6, 7, 3, padding=(1, 2), dilation=(1, 1), bias=False)
        self.last, self.lonely = nn.Conv2d(6, 3, 3, 2), nn.Conv2d(6, 6, 3, 2, groups=6)

    def forward(self, x):
        corner = x[..., :4, :4]
        places = self.last(corner), self.lonely(corner), nn.functional.max_pool2d(corner, 3, 2)
        return self.flat(self.tall(x)), self.prime(x[..., :9]), *places


class Large(nn.Module):
    """Weights that are larger than the cache of a core."""

    def __init__(self):
        super().__init__()
        self.first, self.norm = nn.Conv2d(6, 128, 1), nn.BatchNorm2d(256)
        self.second = nn.Conv2d(128, 256, 3, (2, 1), 1)

    def forward(self, x):
        return torch.relu(self.norm(self.second(self.first(x))))


class Permuted(nn.Module):
    """A model that itself permutes to channels-last between its convolutions."""

    def __init__(self):
        super().__init__()
        self.depthwise, self.norm = nn.Conv2d(6, 6, 3, padding=1, groups=6), nn.LayerNorm(6)
        self.up, self.tokens = nn.Linear(6, 12), nn.Conv2d(12, 4, 2, 2)

    def forward(self, x):
        y = self.up(self.norm(self.depthwise(x).permute(0, 2, 3, 1))).permute(0, 3, 1, 2)
        tokens = self.tokens(y).flatten(2).transpose(1, 2)
        return y, tokens, interpolate(y, scale_factor=2, mode="nearest"), y.flatten(1)


class Orders(nn.Module):
    """The result of a convolution, with the axes after the batch in every order."""

    def __init__(self):
        super().__init__()
        self.convolution = nn.Conv2d(6, 8, 3, padding=1)

    def forward(self, x):
        y = torch.relu(self.convolution(x))
        return [
            y.permute(0, *order).flatten(2) for order in itertools.permutations(range(1, 4))
        ] + [y.permute(0, 3, 1, 2).permute(0, 3, 1, 2).flatten(1)]


MODELS = [InvertedResidual, Bottleneck, Branches, Windows, Large, Permuted, Orders]


@functools.cache
def model_of(kind):
    torch.manual_seed(0)
    model = kind().eval()
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.running_mean.normal_()
            module.running_var.uniform_(0.5, 2)
    return model


@functools.cache
def compiled(preset):
    """Returns all models, compiled together with a preset, with an entry point for each one."""
    return unmess.load(captured(), on="iree-cpu", target=unmess.TargetOptions(preset=preset))


@functools.cache
def captured():
    x = torch.randn(2, 6, 8, 10)
    programs = {kind.__name__: unmess.capture(model_of(kind), (x,)) for kind in MODELS}
    return unmess.combine(programs)


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("preset", ["channels-last", "channels-last-data-tiling"])
def test_network(kind, preset):
    x = torch.randn(2, 6, 8, 10)
    run = compiled(preset)[kind.__name__]
    torch.testing.assert_close(run(x), model_of(kind)(x), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kind", MODELS)
def test_a_dynamic_number_of_images(kind):
    model = model_of(kind)
    dynamic = ({0: torch.export.Dim("n", max=9)},)
    program = unmess.capture(model, (torch.randn(2, 6, 8, 10),), dynamic_shapes=dynamic)
    run = unmess.load(program, on="iree-cpu")
    assert any(str(note).startswith("preset: dynamic-tiles:") for note in run.notes)
    for count in (1, 2, 9):
        x = torch.randn(count, 6, 8, 10)
        torch.testing.assert_close(run(x), model(x), rtol=1e-5, atol=1e-5)


def test_batch_statistics():
    """In training mode, batch norms reduce over the images and update their running statistics."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Conv2d(4, 2, 1, 2)).train()
    x = torch.randn(2, 3, 6, 6)
    run = unmess.load(unmess.capture(model, (x,)), on="iree-cpu")
    for _ in range(2):
        torch.testing.assert_close(run(x), model(x), rtol=1e-5, atol=1e-5)


class Volumes(nn.Module):
    """3-D convolutions: strides, dilations, and windows in some directions only."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(
            [
                nn.Conv3d(3, 8, (3, 7, 7), (1, 2, 2), (1, 3, 3)),
                nn.Conv3d(3, 4, 3, 2, dilation=(1, 2, 1), bias=False),
                nn.Conv3d(3, 5, (3, 1, 1), (2, 1, 2), (1, 0, 0)),
                nn.Conv3d(3, 5, (1, 3, 3), padding=(0, 1, 1), bias=False),
                nn.Conv3d(3, 6, 1, 2),
                nn.Conv3d(3, 6, 1, (1, 2, 2), bias=False),
                nn.Conv3d(3, 5, (2, 1, 1), dilation=(2, 1, 1), padding=(2, 1, 1)),
                nn.Conv3d(3, 4, (1, 2, 3), padding=(1, 0, 1)),
            ]
        )

    def forward(self, x):
        return [layer(x) for layer in self.layers]


def test_convolutions_of_volumes():
    torch.manual_seed(0)
    report = unmess.check(
        unmess.capture(Volumes().eval(), (torch.randn(2, 3, 6, 14, 13),)), on="iree-cpu"
    )
    assert report.ok, report


class Lines(nn.Module):
    """1-D convolutions: strides, dilations, padding, groups, windows of one element; transposed."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(
            [
                nn.Conv1d(4, 6, 5, 3),
                nn.Conv1d(4, 7, 3, dilation=4, padding=4, bias=False),
                nn.Conv1d(4, 6, 1),
                nn.Conv1d(4, 6, 1, 2, bias=False),
                nn.Conv1d(4, 8, 4, 2, padding=1, groups=2),
                nn.Conv1d(4, 6, 3, padding=2, padding_mode="reflect"),
                nn.ConvTranspose1d(4, 5, 6, 3, padding=1, output_padding=2),
            ]
        )

    def forward(self, x):
        return [layer(x).relu() for layer in self.layers]


@pytest.mark.parametrize("is_dynamic", [False, True])
def test_convolutions_of_lines(is_dynamic):
    torch.manual_seed(0)
    model = Lines().eval()
    dynamic = ({0: torch.export.Dim("n", max=9)},) if is_dynamic else None
    program = unmess.capture(model, (torch.randn(2, 4, 21),), dynamic_shapes=dynamic)
    run = unmess.load(program, on="iree-cpu")
    preset = "preset: dynamic-tiles:" if is_dynamic else "preset: channels-last-data-tiling:"
    assert any(str(note).startswith(preset) for note in run.notes)
    for count in (1, 2, 9) if is_dynamic else (2,):
        x = torch.randn(count, 4, 21)
        torch.testing.assert_close(run(x), model(x), rtol=1e-5, atol=1e-5)


def test_convolutions_of_an_argument():
    """Only convolutions read the argument: unpadded ones, strided ones, and one of 136 filters."""
    torch.manual_seed(0)
    layers = [
        nn.Conv2d(6, 8, 1, 2, bias=False),
        nn.Conv2d(6, 8, 1, (1, 3)),
        nn.Conv2d(6, 8, 3, bias=False),
        nn.Conv2d(6, 6, 3, groups=6),
        nn.Conv2d(6, 136, 3, 2, padding=1),
    ]

    class Branches(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList(layers)

        def forward(self, x):
            return [layer(x) for layer in self.layers]

    model, x = Branches().eval(), torch.randn(2, 6, 9, 11)
    run = unmess.load(unmess.capture(model, (x,)), on="iree-cpu")
    torch.testing.assert_close(run(x), model(x), rtol=1e-5, atol=1e-5)
