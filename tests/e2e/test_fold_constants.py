"""Folded programs compute what eager computes, and have no batch norms left."""

import itertools
import json

import pytest
import torch
from torch import nn

import unmess
from importers.folding import fold_constants

ARITHMETIC = ("add", "sub", "mul", "div", "sqrt", "rsqrt")


def random_norms(model):
    """Gives batch norms random statistics and weights, so that none is the identity."""
    torch.manual_seed(1)
    for module in model.modules():
        if isinstance(module, nn.modules.batchnorm._BatchNorm):
            module.running_mean.normal_()
            module.running_var.uniform_(0.5, 2)
            if module.affine:
                nn.init.normal_(module.weight)
                nn.init.normal_(module.bias)
    return model


def left(program):
    """Returns the names of the arithmetic operators in a program."""
    names = [
        str(getattr(node.target, "overloadpacket", "")) for node in program.exported.graph.nodes
    ]
    return [
        name.removeprefix("aten.") for name in names if name.removeprefix("aten.") in ARITHMETIC
    ]


def folded(model, *args, **options):
    return checked_folded(unmess.capture(model, args, **options))


def checked_folded(program):
    nodes = len(program.exported.graph.nodes)
    result = fold_constants(program)
    # The program itself stays as it is.
    assert len(program.exported.graph.nodes) == nodes
    report = unmess.check(result, on="reference", calls=0)
    assert report.ok, report.error
    return result


X2 = torch.randn(2, 4, 6, 6)
CONVOLUTIONS = {
    "bias": (lambda: [nn.Conv2d(4, 6, 3), nn.BatchNorm2d(6)], X2),
    "no bias, relu": (lambda: [nn.Conv2d(4, 6, 3, bias=False), nn.BatchNorm2d(6), nn.ReLU()], X2),
    "no affine": (lambda: [nn.Conv2d(4, 6, 3), nn.BatchNorm2d(6, affine=False)], X2),
    "depthwise": (lambda: [nn.Conv2d(4, 8, 3, groups=4), nn.BatchNorm2d(8)], X2),
    "one channel": (lambda: [nn.Conv2d(4, 1, 3), nn.BatchNorm2d(1)], X2),
    "two norms": (lambda: [nn.Conv2d(4, 6, 3), nn.BatchNorm2d(6), nn.BatchNorm2d(6)], X2),
    "1d": (lambda: [nn.Conv1d(4, 6, 3), nn.BatchNorm1d(6)], torch.randn(2, 4, 9)),
    "3d": (lambda: [nn.Conv3d(4, 6, 2), nn.BatchNorm3d(6)], torch.randn(1, 4, 3, 4, 5)),
    "transposed": (
        lambda: [nn.ConvTranspose2d(4, 6, 3, stride=2, groups=2), nn.BatchNorm2d(6)],
        X2,
    ),
    "strided, non-contiguous": (
        lambda: [nn.Conv2d(4, 6, 3, stride=2), nn.BatchNorm2d(6)],
        torch.randn(2, 6, 6, 4).permute(0, 3, 1, 2),
    ),
    "no batch": (lambda: [nn.Conv2d(4, 6, 3), nn.BatchNorm2d(6)], torch.empty(0, 4, 6, 6)),
}


@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_batch_norm_after_a_convolution(name):
    layers, x = CONVOLUTIONS[name]
    program = folded(random_norms(nn.Sequential(*layers())).eval(), x)
    assert not left(program)
    if x.numel():
        assert set(program.weights) == {"0.weight.folded", "0.bias.folded"}


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.float16])
def test_other_dtypes(dtype):
    model = random_norms(nn.Sequential(nn.Conv2d(4, 6, 3), nn.BatchNorm2d(6))).eval().to(dtype)
    program = folded(model, X2.to(dtype))
    assert not left(program)
    assert {tensor.dtype for tensor in program.weights.values()} == {dtype}


def test_batch_norm_after_a_linear_layer():
    model = nn.Sequential(
        nn.Linear(4, 6), nn.BatchNorm1d(6), nn.ReLU(), nn.Linear(6, 3, bias=False)
    )
    program = folded(random_norms(model).eval(), torch.randn(5, 4))
    assert left(program) == ["add"]
    assert set(program.weights) == {"0.weight.folded_1", "0.bias.folded", "3.weight.folded"}


class Shared(nn.Module):
    """A convolution and a batch norm, called twice, and a result before the batch norm."""

    def __init__(self):
        super().__init__()
        self.conv, self.norm, self.other = nn.Conv2d(4, 4, 1), nn.BatchNorm2d(4), nn.BatchNorm2d(4)

    def forward(self, x):
        kept = self.conv(x)
        twice = self.norm(self.conv(self.norm(self.conv(x))))
        return kept, self.other(kept), twice, self.other(self.conv(x))


def test_shared_layers_are_folded_once():
    program = folded(random_norms(Shared()).eval(), X2)
    # `kept` is a result itself, so its batch norm stays.
    assert set(left(program)) == {"sub", "mul", "add"}
    names = [name for name in program.weights if name.startswith("conv.weight")]
    assert sorted(names) == ["conv.weight", "conv.weight.folded", "conv.weight.folded_1"]


VALUES = [float("nan"), float("inf"), -1.0, 0.0, 3e38, 1e-45]
TENSORS = ["0.weight", "1.running_var", "1.weight", "1.bias"]


class Extreme(nn.Module):
    """One layer for each pair of a tensor and a value: a part of the tensor has this value."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList()
        for tensor, value in itertools.product(TENSORS, VALUES):
            layer = random_norms(nn.Sequential(nn.Conv2d(2, 3, 1), nn.BatchNorm2d(3)))
            with torch.no_grad():
                layer.state_dict()[tensor][1] = value
            self.layers.append(layer)

    def forward(self, x):
        return [layer(x) for layer in self.layers]


@pytest.fixture(scope="module")
def extreme_results():
    """Results with and without folding, by tensor and value. All layers are one program."""
    x = torch.tensor([0.0, 1.0, -2.0, float("inf"), float("nan"), 1e-40]).repeat(1, 2, 1, 1)
    program = unmess.capture(Extreme().eval(), (x,))
    folded_program = fold_constants(program)
    # Layers whose folded weights would not be finite stay as they are.
    assert 0 < len(left(folded_program)) < len(left(program))
    assert sum(name.endswith("weight.folded") for name in folded_program.weights) > 3
    # The decomposition of batch norm itself differs from eager's kernel for infinite weights.
    results = zip(unmess.load(program)(x), unmess.load(folded_program)(x), strict=True)
    return dict(zip(itertools.product(TENSORS, map(str, VALUES)), results, strict=True))


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("tensor", TENSORS)
def test_extreme_weights(extreme_results, tensor, value):
    expected, actual = extreme_results[tensor, str(value)]
    torch.testing.assert_close(actual, expected, equal_nan=True)


def test_training_mode_is_not_folded():
    model = nn.Sequential(nn.Conv2d(4, 6, 3), nn.BatchNorm2d(6)).train()
    program = folded(model, X2)
    assert "0.weight" in program.weights
    assert {"1.running_mean", "1.running_var"} <= set(program.weights)


class Constants(nn.Module):
    """Subgraphs of weights, state, and results that are constants."""

    def __init__(self):
        super().__init__()
        self.norm = torch.nn.utils.parametrizations.weight_norm(nn.Linear(4, 4))
        self.position = nn.Embedding(8, 4)
        self.register_buffer("ids", torch.arange(8), persistent=False)
        self.register_buffer("count", torch.zeros(4))
        self.register_buffer("flags", torch.tensor([True, False, True, True]))

    def forward(self, x):
        self.count += 1
        y = self.norm(x) + self.position(self.ids[: x.shape[1]]) + self.position(torch.arange(3))
        return y * (self.count * 2), self.flags.logical_not(), self.ids + 1, self.ids.expand(9, 8)


def test_constant_subgraphs():
    plain = unmess.capture(Constants().eval(), (torch.randn(2, 3, 4),))
    program = checked_folded(plain)
    assert "count" in program.weights
    assert not any(
        name.startswith("norm.parametrizations.weight.original") for name in program.weights
    )
    module = unmess.lower(plain, "torch")
    new = unmess.lower(plain, "torch", fold_constants=True)
    assert "aten.linalg_vector_norm" in module.text() or "aten.sum" in module.text()
    assert "sqrt" not in new.text() and "aten.embedding" not in new.text()
    # The broadcast ids are not stored.
    assert all(tensor.numel() < 72 for tensor in program.weights.values())


def test_nothing_to_fold():
    program = unmess.capture(nn.Sequential(nn.ReLU()), (X2,))
    assert fold_constants(program) is program


def test_several_entry_points_share_folded_weights():
    model = random_norms(nn.Sequential(nn.Conv2d(4, 6, 3), nn.BatchNorm2d(6))).eval()
    one, two = (unmess.capture(model, (torch.randn(size, 4, 6, 6),)) for size in (1, 3))
    programs = fold_constants(unmess.combine({"one": one, "two": two}))
    run = unmess.load(programs)
    for entry, program in programs.entries.items():
        torch.testing.assert_close(run[entry](*program.args), model(*program.args))


def test_written_ir_has_the_folded_weights(unmess_command, tmp_path):
    source = tmp_path / "model.py"
    source.write_text(
        "import torch\nfrom torch import nn\n"
        "def model():\n    torch.manual_seed(0)\n"
        "    net = nn.Sequential(nn.Conv2d(3, 5, 3, bias=False), nn.BatchNorm2d(5)).eval()\n"
        "    net[1].running_mean.normal_()\n    return net, (torch.randn(1, 3, 8, 8),)\n"
    )
    file = tmp_path / "model.mlir"
    for _ in range(2):  # the second time, the program comes from the cache
        done = unmess_command("import", str(source), "--fold-constants", "-o", str(file), "--json")
        assert done.returncode == 0, done.stderr
        document = json.loads(done.stdout)
        names = {argument["name"] for argument in document["weights"]}
        assert names == {"0.weight.folded", "0.bias.folded"}, names
    assert "math." not in file.read_text()
    assert unmess.check(str(file), on="reference").ok
    plain = unmess_command("import", str(source), "-q")
    assert "folded" not in plain.stdout
    again = unmess_command("import", str(file), "--fold-constants", "-q")
    assert again.returncode == 2
    assert "constants cannot be folded" in again.stderr


def test_backend_takes_folded_programs():
    seen = []

    class Backend:
        name = "folding"
        input = unmess.BackendInput(stage="linalg", fold_constants=True)

        def compile(self, module, folder):
            seen.extend(module.weights)
            return module

        def load(self, artifact):
            inner = unmess.load(artifact)
            return lambda *tensors: inner(*tensors[:1])

    unmess.register_backend(Backend)
    model = random_norms(nn.Sequential(nn.Conv2d(4, 6, 3), nn.BatchNorm2d(6))).eval()
    run = unmess.load(unmess.capture(model, (X2,)), on="folding")
    assert set(seen) == {"0.weight.folded", "0.bias.folded"}
    torch.testing.assert_close(run(X2), model(X2))
