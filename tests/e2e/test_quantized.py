"""Tests that quantized models on the runners are bitwise equal to eager."""

import contextlib

import pytest
import torch
import torch.ao.quantization.fx._decomposed  # defines quantized_decomposed
from torch import nn
from torch.ao import quantization

import unmess

RUNNERS = ("reference", "iree-cpu")
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")


def check(program):
    for runner in RUNNERS:
        report = unmess.check(program, on=runner, calls=1)
        assert report.ok, (runner, report.error)
        assert report.max_abs_error == 0, runner


class Network(nn.Module):
    """One of each layer that eager mode quantizes in torchvision's networks."""

    def __init__(self):
        super().__init__()
        self.quantize, self.dequantize = quantization.QuantStub(), quantization.DeQuantStub()
        self.first, self.relu = nn.Conv2d(3, 8, 3, padding=1), nn.ReLU()
        self.grouped = nn.Conv2d(8, 8, 3, padding=1, groups=2)
        self.add, self.cat = nn.quantized.FloatFunctional(), nn.quantized.FloatFunctional()
        self.pool, self.last = nn.MaxPool2d(2), nn.Linear(16, 5)

    def forward(self, x):
        x = self.relu(self.first(self.quantize(x)))
        x = self.pool(self.add.add_relu(x, self.grouped(x)))
        x = nn.functional.adaptive_avg_pool2d(self.cat.cat([x, x], 1), 1)
        return self.dequantize(self.last(torch.flatten(x, 1)))


@contextlib.contextmanager
def engine_of(name):
    before = torch.backends.quantized.engine
    torch.backends.quantized.engine = name
    try:
        yield
    finally:
        torch.backends.quantized.engine = before


@pytest.mark.parametrize("engine", ["fbgemm", "qnnpack"])
def test_eager_mode(engine):
    torch.manual_seed(0)
    with engine_of(engine):
        model = quantization.fuse_modules(Network().eval(), [["first", "relu"]])
        model.qconfig = quantization.get_default_qconfig(engine)
        quantization.prepare(model, inplace=True)
        model(torch.randn(4, 3, 8, 8))
        quantization.convert(model, inplace=True)
    program = unmess.capture(model, (torch.randn(2, 3, 8, 8),))
    assert "quantized" in [note.kind for note in program.notes]
    result = model(*program.args)
    assert len(result.unique()) > 5
    check(program)


class Elementwise(nn.Module):
    """Operations on every pair of 8-bit numbers. The scales make many results end in .5."""

    def __init__(self):
        super().__init__()
        self.quantize = nn.quantized.Quantize(0.1, 7, torch.quint8)
        self.dequantize = nn.quantized.DeQuantize()
        self.add, self.add_relu, self.mul = (nn.quantized.QFunctional() for _ in range(3))
        for layer, scale in ((self.add, 0.2), (self.add_relu, 0.2), (self.mul, 0.02)):
            layer.scale, layer.zero_point = scale, 101
        self.hardswish = nn.quantized.Hardswish(0.1, 33)

    def forward(self, x, y):
        x, y = self.quantize(x), self.quantize(y)
        results = self.add.add(x, y), self.add_relu.add_relu(x, y), self.mul.mul(x, y)
        return [self.dequantize(result) for result in (*results, self.hardswish(x))]


def test_every_pair_of_numbers():
    numbers = (torch.arange(256) - 7) * 0.1
    x, y = (grid.contiguous() for grid in torch.meshgrid(numbers, numbers, indexing="ij"))
    check(unmess.capture(Elementwise().eval(), (x, y)))


@pytest.mark.parametrize(("engine", "low", "high"), [("fbgemm", -64, 63), ("qnnpack", -128, 127)])
def test_weights_with_a_zero_point(engine, low, high):
    """Extreme bytes, and dilation; half of the weights have another zero point than 0.

    On CPUs without VNNI, FBGEMM clamps the sum of two products to 16 bits.
    """
    torch.manual_seed(0)
    layers = []
    for zero_point in (0, 3):
        layer = nn.quantized.Conv2d(3, 5, 3, padding=2, dilation=2, groups=1)
        weight = torch.randint(low, high + 1, (5, 3, 3, 3)) * 0.01
        weight = torch.quantize_per_tensor(
            weight - zero_point * 0.01, 0.01, zero_point, torch.qint8
        )
        with engine_of(engine):
            layer.set_weight_bias(weight, torch.randn(5))
        layer.scale, layer.zero_point = 2.0, 100
        layers.append(nn.Sequential(nn.quantized.Quantize(0.1, 57, torch.quint8), layer))

    class Both(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList(layers)
            self.dequantize = nn.quantized.DeQuantize()

        def forward(self, x):
            return [self.dequantize(layer(x)) for layer in self.layers]

    program = unmess.capture(Both().eval(), (30 * torch.randn(1, 3, 9, 9),))
    check(program)


def test_a_layer_without_integer_form_is_refused():
    model = nn.Sequential(
        nn.quantized.Quantize(0.1, 128, torch.quint8), nn.quantized.ELU(0.1, 128), nn.Flatten()
    ).eval()
    with pytest.raises(unmess.Error) as caught:
        unmess.capture(model, (torch.randn(1, 3),))
    assert caught.value.stage == "capture"
    assert "no integer implementation of ELU" in caught.value.cause


class Negative(nn.Module):
    def __init__(self):
        super().__init__()
        self.quantize = nn.quantized.Quantize(0.1, 128, torch.quint8)

    def forward(self, x):
        return self.quantize(x).neg()


def test_a_method_without_integer_form_is_refused():
    with pytest.raises(unmess.Error, match=r"no integer implementation of Tensor\.neg"):
        unmess.capture(Negative(), (torch.randn(3),))


quantized = torch.ops.quantized_decomposed


def through_eight_bits(x, scale, zero_point, dtype=torch.int8):
    limits = torch.iinfo(dtype)
    parameters = (scale, zero_point, limits.min, limits.max, dtype)
    return quantized.dequantize_per_tensor(
        quantized.quantize_per_tensor(x, *parameters), *parameters
    )


class Decomposed(nn.Module):
    """A model with the operators of a graph that PT2E has quantized."""

    def __init__(self):
        super().__init__()
        self.register_buffer("weight", torch.randint(-127, 128, (8, 3, 3, 3), dtype=torch.int8))
        self.register_buffer("scales", torch.rand(8) * 0.01 + 0.001)
        self.register_buffer("zero_points", torch.zeros(8, dtype=torch.int64))
        self.bias = nn.Parameter(torch.randn(8))

    def forward(self, x):
        weight = quantized.dequantize_per_channel(
            self.weight, self.scales, self.zero_points, 0, -127, 127, torch.int8
        )
        x = through_eight_bits(x, 0.02, 3)
        x = torch.relu(nn.functional.conv2d(x, weight, self.bias, padding=1))
        return through_eight_bits(x, 0.03, 128, torch.uint8)


def test_pt2e():
    torch.manual_seed(0)
    program = unmess.capture(Decomposed().eval(), (torch.randn(1, 3, 4, 4),))
    assert len(program.eager(*program.args).unique()) > 10
    check(program)


def test_products_of_8_bit_integers():
    """Two of these products used to crash the process in native code."""

    def products(a, b, c):
        return a @ b, torch.bmm(a[None], b[None]), torch._int_mm(c, c)

    def integers(*shape):
        return torch.randint(-128, 128, shape, dtype=torch.int8)

    torch.manual_seed(0)
    check(unmess.capture(products, (integers(3, 4), integers(4, 5), integers(32, 32))))
