"""Convolutions by Winograd's algorithm match eager PyTorch on each kind of processor."""

import functools

import pytest
import torch
from torch import nn

import unmess
from pipelines.reference.schedules import winograd

INFINITY = float("inf")


class Convolutions(nn.Module):
    """Convolutions of one tensor each. One compilation covers many shapes."""

    def __init__(self, *layers: nn.Module):
        super().__init__()
        self.layers = nn.ModuleList(layers)

    def forward(self, tensors):
        return [layer(x) for layer, x in zip(self.layers, tensors, strict=True)]


@functools.cache
def convolutions():
    """Even and odd sizes, several images, groups, volumes, and odd numbers of filters."""
    torch.manual_seed(0)
    cases = (
        (nn.Conv2d(16, 16, 3, padding=1), (1, 16, 8, 8)),
        (nn.Conv2d(16, 33, 3, padding=1, bias=False), (1, 16, 9, 11)),
        (nn.Conv2d(32, 17, 3, padding=1), (2, 32, 7, 33)),
        (nn.Conv2d(16, 16, 3, padding=2, bias=False), (1, 16, 3, 126)),
        (nn.Conv2d(48, 24, 3), (3, 48, 39, 7)),
        # The tiles are several blocks.
        (nn.Conv2d(96, 20, 3, padding=1), (1, 96, 44, 31)),
        (nn.Conv2d(512, 16, 3, padding=1, bias=False), (1, 512, 14, 14)),
        (nn.Conv2d(48, 36, 3, padding=1, groups=2), (2, 48, 13, 12)),
        (nn.Conv3d(16, 16, 3, padding=1), (1, 16, 5, 9, 10)),
    )
    model = Convolutions(*(layer for layer, _ in cases)).eval()
    inputs = [torch.randn(shape) for _, shape in cases]
    return model, inputs, unmess.capture(model, (inputs,))


def compiled(monkeypatch):
    """Loads the convolutions; checks that the algorithm computes all of them."""
    shapes = []

    def rewrite(function, generic, machine):
        if text := winograd.rewrite(function, generic, machine):
            shapes.append(str(generic.operands[2].type))
        return text

    with monkeypatch.context() as patch:
        patch.setattr("pipelines.reference.steps.kernels.SCHEDULES", (rewrite,))
        run = unmess.load(convolutions()[2], on="reference")
    assert len(shapes) == 9
    return run


@pytest.fixture
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def test_errors_are_small(always_vectors, monkeypatch, one_thread):
    model, inputs, _ = convolutions()
    results = compiled(monkeypatch)(inputs)
    for layer, x, y in zip(model.layers, inputs, results, strict=True):
        with torch.no_grad():
            exact = layer.double()(x.double())
            layer.float()
        # Eager's error is 2e-7 to 5e-7.
        assert (y - exact).abs().max() <= 1.2e-6 * exact.abs().max()


def with_values(tensors, *values):
    """Returns copies with these values at random places."""
    generator = torch.Generator().manual_seed(1)
    copies = [x.clone() for x in tensors]
    for x in copies:
        places = torch.randperm(x.numel(), generator=generator)[: len(values)]
        x.view(-1)[places] = torch.tensor(values)
    return copies


def test_values_that_are_not_finite_stay_in_their_windows(always_vectors, monkeypatch, one_thread):
    model, inputs, _ = convolutions()
    run = compiled(monkeypatch)
    for values in (
        (INFINITY,),
        (INFINITY, -INFINITY),
        (float("nan"),),
        (3e38, -3e38, 3e38),
        (0.0, -0.0),
    ):
        hostile = with_values(inputs, *values)
        with torch.no_grad():
            expected = model(hostile)
        for y, eager in zip(run(hostile), expected, strict=True):
            largest = eager[eager.isfinite()].abs().max().item()
            torch.testing.assert_close(y, eager, rtol=1e-5, atol=1e-5 * largest, equal_nan=True)


def unpadded(layer, x):
    """Returns a layer's result. Products with zeros around the image are part of the sums."""
    amount = [n for n in reversed(layer.padding) for _ in range(2)]
    convolution = nn.functional.conv2d if x.dim() == 4 else nn.functional.conv3d
    padded = nn.functional.pad(x, amount)
    return convolution(padded, layer.weight, layer.bias, groups=layer.groups)


def test_filters_that_are_not_finite(always_vectors, monkeypatch, one_thread):
    model, inputs, _ = convolutions()
    run = compiled(monkeypatch)
    weights = [layer.weight for layer in model.layers]
    before = [weight.detach().clone() for weight in weights]
    try:
        with torch.no_grad():
            for weight, changed in zip(weights, with_values(before, INFINITY), strict=True):
                weight.copy_(changed)
            results, expected = run(inputs), list(map(unpadded, model.layers, inputs))
        for y, eager in zip(results, expected, strict=True):
            torch.testing.assert_close(y, eager, rtol=1e-5, atol=1e-4, equal_nan=True)
            assert eager.isfinite().any() and not eager.isfinite().all()
    finally:
        with torch.no_grad():
            for weight, old in zip(weights, before, strict=True):
                weight.copy_(old)


def test_results_do_not_depend_on_the_number_of_threads():
    before = torch.get_num_threads()
    _, inputs, program = convolutions()
    hostile = with_values(inputs, INFINITY)
    results = []
    try:
        for count in (1, 2, 3, 5):
            torch.set_num_threads(count)
            run = unmess.load(program, on="reference")
            results.append([*run(inputs), *(y.nan_to_num(7) for y in run(hostile))])
    finally:
        torch.set_num_threads(before)
    for others in results[1:]:
        assert all(map(torch.equal, others, results[0]))


def test_dynamic_number_of_images():
    torch.manual_seed(0)
    layer = nn.Conv2d(16, 16, 3, padding=1).eval()
    batch = torch.export.Dim("batch", min=1, max=9)
    program = unmess.capture(layer, (torch.randn(4, 16, 24, 24),), dynamic_shapes=({0: batch},))
    run = unmess.load(program, on="reference")
    for count in (1, 2, 9):
        x = torch.randn(count, 16, 24, 24)
        with torch.no_grad():
            torch.testing.assert_close(run(x), layer(x), rtol=1e-5, atol=1e-5)
