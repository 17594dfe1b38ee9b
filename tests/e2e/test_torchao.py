"""Models that torchao quantized, from every output dialect and on both runners."""

import pytest
import torch
from torchao import quantization
from torchao.quantization.granularity import PerGroup

import unmess

CONFIGS = {
    "int8 weights": lambda: quantization.Int8WeightOnlyConfig(),
    "int4 weights": lambda: quantization.IntxWeightOnlyConfig(
        weight_dtype=torch.int4, granularity=PerGroup(32)
    ),
    "int8 weights and activations": lambda: quantization.Int8DynamicActivationInt8WeightConfig(),
    "int4 weights, int8 activations": lambda: quantization.Int8DynamicActivationIntxWeightConfig(
        weight_dtype=torch.int4, weight_granularity=PerGroup(32)
    ),
}
# Activations are rounded to integers, and an ulp may change one.
ERRORS = {"int8 weights": 1e-6, "int4 weights": 1e-6}
# On CPUs with VNNI, torchao multiplies u8 by i8. TOSA has no u8 arithmetic.
DIALECTS = {"int8 weights and activations": ("linalg", "stablehlo")}


def quantized(name):
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Linear(64, 128), torch.nn.GELU(), torch.nn.Linear(128, 64)
    ).eval()
    quantization.quantize_(model, CONFIGS[name]())
    return model


@pytest.mark.parametrize("name", CONFIGS)
def test_equal_to_torchao(name):
    model, x = quantized(name), torch.randn(2, 3, 64)
    with torch.no_grad():
        expected = model(x)
    program = unmess.capture(model, (x,))
    weights = program.weights
    assert weights["0.weight.integers"].dtype == torch.int8
    groups = 2 if name.startswith("int4") else 1
    assert weights["0.weight.scales"].shape == (128, groups)
    assert "0.weight" not in weights
    for dialect in DIALECTS.get(name, ("linalg", "tosa", "stablehlo")):
        module = unmess.lower(program, to=dialect)
        names = {each.name for each in module.signature.arguments}
        assert {"0.weight.integers", "0.weight.scales", "2.weight.integers"} <= names
        for runner in ("reference", "iree-cpu"):
            found = unmess.load(module, on=runner)(x)
            limit = ERRORS.get(name, 1e-5) * expected.abs().max()
            assert (found - expected).abs().max() <= limit, (dialect, runner)
    # The reference runner computes weights once, when it loads a program.
    found = unmess.load(program)(x)
    assert (found - expected).abs().max() <= ERRORS.get(name, 1e-5) * expected.abs().max()


def test_an_exported_program_is_not_changed():
    model, x = quantized("int8 weights"), torch.randn(3, 64)
    exported = torch.export.export(model, (x,))
    before = list(exported.state_dict)
    run = unmess.load(unmess.capture(exported))
    with torch.no_grad():
        torch.testing.assert_close(run(x), model(x), atol=1e-6, rtol=1e-5)
    assert list(exported.state_dict) == before
    assert [spec.target for spec in exported.graph_signature.input_specs[:2]] == [
        "0.weight", "0.bias"
    ]  # fmt: skip
