"""Integer programs: each output dialect and runner gives the integers that PyTorch computes."""

import re

import pytest
import torch
import torch.ao.quantization.fx._decomposed  # defines quantized_decomposed

import unmess
from unmess.__main__ import main

nn = torch.nn
quantized = torch.ops.quantized_decomposed
ROUTES = [
    (dialect, runner)
    for dialect in ("linalg", "tosa", "stablehlo")
    for runner in ("reference", "iree-cpu")
]


class Layers(nn.Module):
    """The operators with an integer form; sizes that windows do not cover."""

    def __init__(self):
        super().__init__()
        self.entry = nn.Conv2d(3, 8, 3, stride=2, padding=1)
        self.norm = nn.BatchNorm2d(8)
        self.depthwise = nn.Conv2d(8, 16, 3, padding=1, groups=8, bias=False)
        self.grouped = nn.Conv2d(16, 8, (1, 2), dilation=(1, 2), groups=2)
        self.sequence = nn.Conv1d(8, 6, 3, padding=2)
        self.head = nn.Linear(6, 5)
        self.norm.running_mean.uniform_(-1, 1)
        self.norm.running_var.uniform_(0.5, 2)

    def forward(self, x):
        x = torch.relu(self.norm(self.entry(x)))
        pooled = nn.functional.max_pool2d(x, 3, 2, 1, ceil_mode=True)
        y = nn.functional.hardtanh(self.depthwise(pooled), -0.5, 0.75)
        y = nn.functional.hardswish(self.grouped(y))
        y = torch.cat([y, nn.functional.avg_pool2d(pooled, 2, 1)[..., :3]], 2)
        rows = nn.functional.gelu(self.sequence(y.flatten(2))).transpose(1, 2)
        scores = rows @ rows.transpose(1, 2) - 0.5 * rows.mean(2, keepdim=True)
        gate = torch.sigmoid(scores.mean((1, 2)))
        return self.head(rows) * 2.0, scores, gate, nn.functional.adaptive_avg_pool2d(y, 1)


@pytest.fixture(scope="module")
def layers():
    torch.manual_seed(0)
    x = torch.randn(2, 3, 18, 15)
    program = unmess.capture(Layers().eval(), (x,))
    return unmess.quantize(program, [x, torch.randn(2, 3, 18, 15)])


@pytest.fixture(scope="module")
def integers(layers):
    return unmess.to_integers(layers)


def test_no_operator_of_the_layers_stays_in_floating_point(integers):
    (note,) = [each.text for each in integers.notes if each.kind == "integer"]
    assert note.startswith("every operator"), note


@pytest.mark.parametrize("dialect", ["linalg", "tosa", "stablehlo"])
def test_only_the_inputs_and_results_are_in_floating_point(integers, dialect):
    text = unmess.lower(integers, to=dialect).text()
    # Quantizing the input, and dequantizing the four results.
    lines = [line for line in text.splitlines() if "xf32" in line and "func.func" not in line]
    products = re.compile(r"conv_|conv2d|convolution|matmul|dot_general|tosa\.rescale")
    assert lines and not any(map(products.search, lines))
    assert len(products.findall(text)) >= 7


@pytest.mark.parametrize("dialect, runner", ROUTES)
def test_result_equals_pytorch_exactly(integers, dialect, runner):
    run = unmess.load(unmess.lower(integers, to=dialect), on=runner)
    torch.manual_seed(1)
    # Values beyond those of the calibration, and special ones.
    for x in (torch.randn(2, 3, 18, 15) * 4, torch.full((2, 3, 18, 15), -1e30)):
        for found, expected in zip(run(x), integers.eager(x), strict=True):
            assert torch.equal(found, expected)


def test_integers_are_within_few_steps_of_the_quantized_model(layers, integers):
    """Each operator is at most one step off. Such errors propagate through later operators."""
    x = layers.args[0]
    for found, expected in zip(integers.eager(x), layers.eager(x), strict=True):
        step = (expected.max() - expected.min()) / 255
        assert (found - expected).abs().max() <= 3 * step
        assert ((found - expected).abs() > 0.5 * step).float().mean() < 0.1


class Bytes(nn.Module):
    """Unsigned activations and a weight with a zero point, as other frontends write them."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Buffer(torch.randint(0, 256, (4, 6), dtype=torch.uint8))
        self.bias = nn.Parameter(torch.randn(4))

    def forward(self, x):
        x = quantized.quantize_per_tensor(x, 0.03, 100, 0, 255, torch.uint8)
        x = quantized.dequantize_per_tensor(x, 0.03, 100, 0, 255, torch.uint8)
        weight = quantized.dequantize_per_tensor(self.weight, 0.01, 121, 0, 255, torch.uint8)
        y = nn.functional.linear(x, weight, self.bias)
        y = quantized.quantize_per_tensor(y, 0.02, 90, 3, 250, torch.uint8)
        y = quantized.dequantize_per_tensor(y, 0.02, 90, 3, 250, torch.uint8)
        z = quantized.quantize_per_tensor(torch.tanh(y), 0.01, 128, 0, 255, torch.uint8)
        return y, quantized.dequantize_per_tensor(z, 0.01, 128, 0, 255, torch.uint8)


@pytest.mark.parametrize("dialect", ["linalg", "tosa", "stablehlo"])
def test_unsigned_integers(dialect):
    torch.manual_seed(0)
    model, x = Bytes(), torch.randn(7, 6) * 3
    program = unmess.to_integers(unmess.capture(model, (x,)))
    run = unmess.load(unmess.lower(program, to=dialect))
    for found, expected, eager in zip(run(x), program.eager(x), model(x), strict=True):
        assert torch.equal(found, expected)
        assert (found - eager).abs().max() <= 0.0201


def test_the_batch_may_be_dynamic_also_in_a_bundle(tmp_path):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(64, 3)).eval()
    batch = torch.export.Dim("batch", max=9)
    program = unmess.capture(model, (torch.randn(2, 3, 6, 6),), dynamic_shapes=({0: batch},))
    program = unmess.quantize(program, integer=True)
    unmess.package(program, tmp_path / "integers")
    run, bundle = unmess.load(program), unmess.bundle.load(tmp_path / "integers")
    for size in (1, 5, 9):
        x = torch.randn(size, 3, 6, 6)
        expected = program.eager(x)
        assert torch.equal(run(x), expected)
        assert torch.equal(torch.from_numpy(bundle(x.numpy())), expected)


def test_operators_without_an_integer_form_are_listed():
    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner, self.norm = nn.Linear(8, 8), nn.LayerNorm(8)

        def forward(self, x):
            return self.norm(torch.softmax(self.inner(x), -1))

    x = torch.randn(2, 8)
    program = unmess.quantize(unmess.capture(Attention().eval(), (x,)), integer=True)
    (note,) = [each.text for each in program.notes if each.kind == "integer"]
    assert note.startswith("2 operators stay in floating point")
    assert "aten.softmax.int" in note and "aten.layer_norm (norm: " in note
    found = unmess.load(program)(x)
    torch.testing.assert_close(found, program.eager(x))


def test_sums_that_may_exceed_32_bits_stay_in_floating_point():
    x = torch.randn(1, 70_000)
    program = unmess.quantize(unmess.capture(nn.Linear(70_000, 2).eval(), (x,)), integer=True)
    (note,) = [each.text for each in program.notes if each.kind == "integer"]
    assert "sums of 70000 products may exceed 32 bits" in note


def test_clamps_apply_from_the_inside_out():
    class Clamps(nn.Module):
        def forward(self, x, y):
            below = torch.relu(torch.clamp(x + y, -2, -1))
            return below, torch.clamp(nn.functional.relu6(x + y), 0.5, 9), (x * y).mean()

    args = torch.randn(3, 5) * 4, torch.randn(3, 5)
    quantized_program = unmess.quantize(unmess.capture(Clamps(), args))
    program = unmess.to_integers(quantized_program)
    eager = quantized_program.eager(*args)
    for found, expected in zip(program.eager(*args), eager, strict=True):
        torch.testing.assert_close(found, expected, atol=0.1, rtol=0)


def test_layers_of_eager_mode_quantization():
    """Each layer is at most one step off. Such errors propagate through later layers."""
    torch.manual_seed(0)
    layers = torch.ao.nn.quantized
    wrapped = torch.ao.quantization.QuantWrapper(
        nn.Sequential(nn.Conv2d(3, 6, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                      nn.Linear(6, 4))
    ).eval()  # fmt: skip
    wrapped.qconfig = torch.ao.quantization.get_default_qconfig("fbgemm")
    torch.ao.quantization.fuse_modules(wrapped, [["module.0", "module.1"]], inplace=True)
    torch.ao.quantization.prepare(wrapped, inplace=True)
    x = torch.randn(2, 3, 8, 8)
    wrapped(x)
    torch.ao.quantization.convert(wrapped, inplace=True)
    assert isinstance(wrapped.module[4], layers.Linear)
    program = unmess.to_integers(unmess.capture(wrapped, (x,)))
    (note,) = [each.text for each in program.notes if each.kind == "integer"]
    assert note.startswith("every operator"), note
    found = unmess.load(program)(x)
    assert torch.equal(found, program.eager(x))
    assert (found - wrapped(x)).abs().max() <= 2.01 * wrapped.module[4].scale


@pytest.mark.parametrize(
    "data, cause",
    [
        ([], "the calibration has no batches"),
        ([(torch.randn(1, 4), torch.randn(1, 4))], "batch 0 of the calibration does not fit"),
    ],
)
def test_batches_that_do_not_fit(data, cause):
    program = unmess.capture(nn.Linear(4, 2), (torch.randn(1, 4),))
    with pytest.raises(unmess.Error, match=cause) as caught:
        unmess.quantize(program, data)
    assert caught.value.stage == "usage"


@pytest.mark.parametrize(
    "command, cause",
    [
        (["analyze", "model.mlir", "--quantize", "int8"], "is IR, which cannot be quantized"),
        (["analyze", "model.mlir", "--integer"], "is IR, which cannot be quantized"),
        (["run", "hf:bert", "--calibrate", "x.npy"], "--calibrate needs --quantize"),
    ],
)
def test_options_that_have_no_effect_are_refused(capsys, command, cause):
    assert main([*command, "-q"]) == 2
    assert cause in capsys.readouterr().err


def test_a_model_without_quantized_tensors_is_refused():
    with pytest.raises(unmess.Error, match="the model has no quantized tensors"):
        unmess.to_integers(unmess.capture(nn.ReLU(), (torch.randn(3),)))
    with pytest.raises(unmess.Error, match="no operator that can be quantized"):
        unmess.quantize(unmess.capture(nn.Softmax(0), (torch.randn(3),)))
