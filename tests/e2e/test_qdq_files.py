"""ONNX files with QuantizeLinear and DequantizeLinear nodes as integer programs."""

import json

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from click.testing import CliRunner
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import (
    CalibrationDataReader,
    QuantFormat,
    QuantType,
    quantize_static,
)

import unmess
from unmess.cli import cli

nn = torch.nn
node = helper.make_node
ROUTES = [
    (dialect, runner)
    for dialect in ("linalg", "tosa", "stablehlo")
    for runner in ("reference", "iree-cpu")
]


def note_of(program):
    (note,) = [each.text for each in program.notes if each.kind == "integer"]
    return note


def from_onnxruntime(path, *arrays):
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    names = [each.name for each in session.get_inputs()]
    return session.run(None, dict(zip(names, arrays, strict=True)))


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.entry = nn.Conv2d(3, 8, 3, stride=2, padding=1)
        self.depthwise = nn.Conv2d(8, 8, 3, padding=1, groups=8)
        self.point, self.head = nn.Conv2d(8, 8, 1), nn.Linear(16, 5)

    def forward(self, x):
        x = torch.relu(self.entry(x))
        x = self.point(nn.functional.relu6(self.depthwise(x))) + x
        x = torch.cat([nn.functional.max_pool2d(x, 2), nn.functional.avg_pool2d(x, 2)], 1)
        return self.head(nn.functional.adaptive_avg_pool2d(x, 1).flatten(1))


class Batches(CalibrationDataReader):
    def __init__(self, arrays):
        self._feeds = iter([{"x": array} for array in arrays])

    def get_next(self):
        """See `CalibrationDataReader`."""
        return next(self._feeds, None)


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    torch.manual_seed(0)
    path = tmp_path_factory.mktemp("onnx") / "plain.onnx"
    with pytest.warns(DeprecationWarning, match="ONNX"):
        torch.onnx.export(
            Network().eval(), (torch.randn(2, 3, 18, 14),), path, dynamo=False, input_names=["x"]
        )
    return path


def quantized(plain, activations, weights, *, per_channel):
    """Returns a file that onnxruntime quantized, and the scale of its result."""
    path = plain.with_name(f"{activations}-{weights}.onnx")
    random = np.random.default_rng(0)
    data = [random.standard_normal((2, 3, 18, 14), np.float32) for _ in range(3)]
    # Weights of 7 bits: on processors without VNNI, onnxruntime's sums of two products saturate at
    # 16 bits.
    quantize_static(
        plain, path, Batches(data), quant_format=QuantFormat.QDQ, per_channel=per_channel,
        activation_type=activations, weight_type=weights, reduce_range=True,
    )  # fmt: skip
    graph = onnx.load(path).graph
    tensors = {each.name: each for each in graph.initializer}
    return str(path), float(numpy_helper.to_array(tensors[graph.node[-1].input[1]]))


@pytest.fixture(scope="module")
def unsigned(plain):
    """Unsigned activations, and signed weights with a scale per channel."""
    path, scale = quantized(plain, QuantType.QUInt8, QuantType.QInt8, per_channel=True)
    x = torch.randn(2, 3, 18, 14, generator=torch.Generator().manual_seed(1))
    return path, scale, unmess.to_integers(unmess.capture(path, (x,)))


@pytest.mark.parametrize("dialect, runner", ROUTES)
def test_file_of_onnxruntime_on_each_route(unsigned, dialect, runner):
    _, _, program = unsigned
    run = unmess.load(unmess.lower(program, to=dialect), on=runner)
    torch.manual_seed(2)
    for factor in (1, 4):
        x = torch.randn(2, 3, 18, 14) * factor
        assert torch.equal(run(x), program.eager(x))


def test_file_of_onnxruntime_is_within_one_step_of_onnxruntime(unsigned):
    path, scale, program = unsigned
    assert note_of(program).startswith("every operator"), note_of(program)
    assert "of onnxruntime's result" in note_of(program)
    (x,) = program.args
    (expected,) = from_onnxruntime(path, x.numpy())
    assert len(np.unique(expected)) > 5
    assert np.abs(program.eager(x).numpy() - expected).max() <= 1.001 * scale


@pytest.mark.parametrize("kind", [QuantType.QInt8, QuantType.QUInt8])
def test_one_type_for_activations_and_weights(plain, kind):
    path, scale = quantized(plain, kind, kind, per_channel=False)
    x = torch.randn(2, 3, 18, 14, generator=torch.Generator().manual_seed(1))
    program = unmess.to_integers(unmess.capture(path, (x,)))
    assert note_of(program).startswith("every operator"), note_of(program)
    found = unmess.load(program)(x)
    assert torch.equal(found, program.eager(x))
    (expected,) = from_onnxruntime(path, x.numpy())
    assert np.abs(found.numpy() - expected).max() <= 1.001 * scale


class Graph:
    """Builds a graph whose operators are between QuantizeLinear and DequantizeLinear nodes."""

    def __init__(self):
        self.nodes, self.tensors = [], []
        self.random = np.random.default_rng(0)

    def constant(self, name, array):
        self.tensors.append(numpy_helper.from_array(array, name))
        return name

    def grid(self, name, scale, zero):
        return [
            self.constant(f"{name}.scale", np.asarray(scale, np.float32)),
            self.constant(f"{name}.zero", zero),
        ]

    def weight(self, name, integers, scale, zero, **options):
        names = [self.constant(name, integers), *self.grid(name, scale, zero)]
        self.nodes.append(node("DequantizeLinear", names, [f"{name}.number"], **options))
        return f"{name}.number"

    def rounded(self, name, scale, zero):
        grid = self.grid(name, scale, zero)
        self.nodes.append(node("QuantizeLinear", [name, *grid], [f"{name}.integers"]))
        self.nodes.append(node("DequantizeLinear", [f"{name}.integers", *grid], [f"{name}.number"]))
        return f"{name}.number"

    def saved(self, path, shape, result):
        kind = TensorProto.FLOAT
        graph = helper.make_graph(
            self.nodes,
            "graph",
            [helper.make_tensor_value_info("x", kind, shape)],
            [helper.make_tensor_value_info("y.number", kind, result)],
            self.tensors,
        )
        opset = helper.make_opsetid("", 21)
        onnx.save(helper.make_model(graph, opset_imports=[opset], ir_version=10), path)
        return str(path)


def integers(x, scale, zero, dtype):
    limits = np.iinfo(dtype)
    quotient = np.round(x / np.float32(scale)) + zero
    return np.clip(quotient, limits.min, limits.max).astype(np.int64)


def rescaled(sums, factor, zero, dtype):
    """Computes what TOSA's rescale does, with the exact factor. There are no ties in the tests."""
    limits = np.iinfo(dtype)
    return np.clip(np.floor(sums * factor + 0.5) + zero, limits.min, limits.max)


@pytest.mark.parametrize("form", ["Gemm", "transposed Gemm", "MatMul and Add"])
def test_products_equal_numpy(tmp_path, form):
    """i8 weights with a scale for each column, a bias of i32, and clamped u8 results."""
    graph = Graph()
    w = graph.random.integers(-127, 128, (6, 5)).astype(np.int8)
    scales = graph.random.uniform(0.01, 0.05, 5).astype(np.float32)
    b = graph.random.integers(-500, 500, 5).astype(np.int32)
    x = graph.rounded("x", 0.05, np.uint8(120))
    transposed = form == "transposed Gemm"
    weight = graph.weight("w", w.T if transposed else w, scales, np.zeros(5, np.int8),
                          axis=0 if transposed else 1)  # fmt: skip
    bias = graph.weight("b", b, np.float32(0.05) * scales, np.zeros(5, np.int32), axis=0)
    if form == "MatMul and Add":
        graph.nodes.append(node("MatMul", [x, weight], ["product"]))
        graph.nodes.append(node("Add", [bias, "product"], ["sum"]))
    else:
        graph.nodes.append(node("Gemm", [x, weight, bias], ["sum"], transB=int(transposed)))
    bounds = [graph.constant(n, np.float32(v)) for n, v in (("least", -2.0), ("most", 3.0))]
    graph.nodes.append(node("Clip", ["sum", *bounds], ["y"]))
    graph.rounded("y", 0.03, np.uint8(100))
    path = graph.saved(tmp_path / "product.onnx", [7, 6], [7, 5])

    data = graph.random.standard_normal((7, 6), np.float32) * 3
    program = unmess.to_integers(unmess.capture(path, (torch.from_numpy(data),)))
    assert note_of(program).startswith("every operator"), note_of(program)
    sums = (integers(data, 0.05, 120, np.uint8) - 120) @ w.astype(np.int64) + b
    factors = np.float64(np.float32(0.05)) * scales.astype(np.float64) / np.float32(0.03)
    y = np.clip(rescaled(sums, factors, 100, np.uint8), 100 - 67, 100 + 100)
    expected = (y - 100).astype(np.float32) * np.float32(0.03)
    assert len(np.unique(y)) > 10
    for dialect in ("linalg", "tosa", "stablehlo"):
        found = unmess.load(unmess.lower(program, to=dialect))(torch.from_numpy(data))
        np.testing.assert_array_equal(found.numpy(), expected)
    (theirs,) = from_onnxruntime(path, data)
    assert np.abs(theirs - expected).max() <= 1.001 * 0.03


def test_uneven_padding_of_a_convolution_equals_numpy(tmp_path):
    """Such padding is written by exporters of TensorFlow. The weight has a zero point."""
    graph = Graph()
    w = graph.random.integers(0, 256, (4, 2, 3, 3)).astype(np.uint8)
    x = graph.rounded("x", 0.05, np.int8(-11))
    weight = graph.weight("w", w, 0.02, np.uint8(125))
    graph.nodes.append(
        node("Conv", [x, weight], ["y"], kernel_shape=[3, 3], strides=[2, 2], pads=[0, 0, 1, 1])
    )
    graph.rounded("y", 0.1, np.int8(5))
    path = graph.saved(tmp_path / "conv.onnx", [1, 2, 8, 8], [1, 4, 4, 4])
    data = graph.random.standard_normal((1, 2, 8, 8), np.float32)
    program = unmess.to_integers(unmess.capture(path, (torch.from_numpy(data),)))
    assert note_of(program).startswith("every operator"), note_of(program)
    centered = np.pad(integers(data, 0.05, -11, np.int8) + 11, ((0, 0), (0, 0), (0, 1), (0, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(centered, (3, 3), (2, 3))[:, :, ::2, ::2]
    sums = np.einsum("ncyxhw,ochw->noyx", windows, w.astype(np.int64) - 125)
    factor = np.float64(np.float32(0.05)) * np.float32(0.02) / np.float32(0.1)
    y = rescaled(sums, factor, 5, np.int8)
    expected = (y - 5).astype(np.float32) * np.float32(0.1)
    assert len(np.unique(y)) > 10
    for dialect in ("linalg", "tosa", "stablehlo"):
        found = unmess.load(unmess.lower(program, to=dialect))(torch.from_numpy(data))
        np.testing.assert_array_equal(found.numpy(), expected)


def test_what_stays_in_floating_point_is_listed(tmp_path):
    graph = Graph()
    x = graph.rounded("x", 0.05, np.int8(0))
    graph.nodes.append(node("Softmax", [x], ["s"]))
    s = graph.rounded("s", 0.01, np.int8(-128))
    graph.nodes.append(node("Add", [s, s], ["y"]))
    graph.rounded("y", 0.001, np.int16(0))
    path = graph.saved(tmp_path / "left.onnx", [2, 8], [2, 8])
    data = torch.randn(2, 8, generator=torch.Generator().manual_seed(0))
    program = unmess.to_integers(unmess.capture(path, (data,)))
    note = note_of(program)
    assert note.startswith("2 operators stay in floating point")
    assert "aten.softmax.int (it has no integer form)" in note
    assert "aten.add.Tensor (its result is quantized to torch.int16" in note
    (expected,) = from_onnxruntime(path, data.numpy())
    assert np.abs(unmess.load(program)(data).numpy() - expected).max() <= 0.0021


def test_command_line(unsigned):
    path, *_ = unsigned
    done = CliRunner().invoke(
        cli, ["check", path, "--integer", "--on", "reference", "--json", "-q"],
        catch_exceptions=False,
    )  # fmt: skip
    (row,) = json.loads(done.stdout)
    assert done.exit_code == 0 and row["ok"] and row["max_abs_error"] == 0
    assert any("every operator between" in each for each in row["notes"])
