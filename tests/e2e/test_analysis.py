"""Operation counts of whole models match those that PyTorch counts while it runs them."""

import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

import unmess
from importers.sources import find_source


def eager_flops(model):
    """Returns the FLOPs of convolutions and matrix products, which are all that PyTorch counts."""
    source = find_source(model)
    # PyTorch does not count fused attention on the CPU.
    apart = sdpa_kernel(SDPBackend.MATH)
    with FlopCounterMode(display=False) as counter, torch.no_grad(), apart:
        source.model(*source.args, **source.kwargs)
    return counter.get_total_flops()


@pytest.fixture(scope="module")
def resnet():
    return unmess.capture("torchvision:resnet18")


@pytest.fixture(scope="module")
def resnet_analysis(resnet):
    return unmess.analyze(resnet)


def contraction_flops(analysis):
    (entry,) = analysis.entries
    return next(share.cost.flops for share in entry.kinds if share.name == "contraction")


def test_convolution_flops_match_pytorch(resnet_analysis):
    assert contraction_flops(resnet_analysis) == eager_flops("torchvision:resnet18")


def test_matrix_product_flops_match_pytorch():
    assert contraction_flops(unmess.analyze(unmess.capture("hf:bert"))) == eager_flops("hf:bert")


def test_layers_and_weights_match_the_model(resnet, resnet_analysis):
    (entry,) = resnet_analysis.entries
    model = resnet.eager
    modules = dict(model.named_modules())
    assert {layer.name for layer in entry.layers} <= modules.keys()
    for layer in entry.layers:
        assert layer.type == type(modules[layer.name]).__name__
    convolution = next(layer for layer in entry.layers if layer.name == "layer2.0.conv1")
    assert convolution.parameters == modules["layer2.0.conv1"].weight.numel()
    assert convolution.cost.flops == 2 * (128 * 28 * 28) * (64 * 3 * 3)
    total = sum(weight.elements for weight in entry.weights)
    # Excludes the batch counters of batch norms, and counts each tensor once.
    counters = sum(1 for name in resnet.weights if name.endswith("num_batches_tracked"))
    assert total == sum(tensor.numel() for tensor in resnet.weights.values()) - counters


@pytest.mark.parametrize("stage", ["raw", "torch", "tosa", "stablehlo"])
def test_other_stages_have_counts_layers_and_weights(stage):
    program = unmess.capture("hf:bert")
    analysis = unmess.analyze(program, stage)
    (entry,) = analysis.entries
    assert analysis.stage == stage
    assert entry.memory is None and entry.total.flops == 0
    dialect = "torch" if stage == "raw" else stage
    assert any(each.dialect == dialect for each in analysis.operations)
    assert "encoder.layer.0.attention.self.query" in {layer.name for layer in entry.layers}
    assert any(share.name and "modeling_bert.py" in share.name for share in entry.lines)
    assert sum(weight.bytes for weight in entry.weights) > 0


def product(x, y):
    return torch.relu(x @ y)


def test_dynamic_sizes_default_to_the_example():
    arguments = (torch.ones(6, 4), torch.ones(4, 5))
    program = unmess.capture(product, arguments, dynamic_shapes=["x.0=rows:2..64"])
    (entry,) = unmess.analyze(program).entries
    assert entry.values == {"rows": 6}
    assert contraction_flops(unmess.analyze(program)) == 2 * 6 * 4 * 5
    lowered = unmess.lower(program, to="linalg")
    assert contraction_flops(unmess.analyze(lowered)) == 2 * 6 * 4 * 5
    larger = unmess.analyze(program, sizes={"rows": 10})
    assert contraction_flops(larger) == 2 * 10 * 4 * 5
    # 40 for the product and 5 for the comparison in relu.
    assert str(entry.formula.flops) == "45*rows"
    with pytest.raises(unmess.Error, match="the program has no dynamic size 'columns'"):
        unmess.analyze(program, sizes={"columns": 1})
