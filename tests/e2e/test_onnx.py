"""Tests of ONNX files, compared with onnxruntime."""

import numpy as np
import onnx
import pytest
import torch
from click.testing import CliRunner
from onnx import TensorProto, helper, numpy_helper

import unmess
from unmess.cli import cli


def weight(name, *shape):
    values = np.random.default_rng(len(name) + sum(shape)).standard_normal(shape) * 0.3
    return numpy_helper.from_array(values.astype(np.float32), name)


def floats(name, shape):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


def model(nodes, inputs, outputs, initializers=(), opset=17, ir_version=8):
    graph = helper.make_graph(nodes, "graph", inputs, outputs, list(initializers))
    return helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=ir_version
    )


def cnn(batch=2, opset=17):
    node = helper.make_node
    nodes = [
        node("Conv", ["x", "conv.weight", "conv.bias"], ["c"], pads=[1, 1, 1, 1]),
        node("BatchNormalization", ["c", "scale", "shift", "mean", "variance"], ["n"]),
        node("Relu", ["n"], ["r"]),
        node("MaxPool", ["r"], ["p"], kernel_shape=[2, 2], strides=[2, 2]),
        node("GlobalAveragePool", ["p"], ["g"]),
        node("Flatten", ["g"], ["f"]),
        node("Gemm", ["f", "head.weight", "head.bias"], ["y"], transB=1),
    ]
    weights = [
        weight("conv.weight", 8, 3, 3, 3),
        weight("head.weight", 10, 8),
        *(weight(name, 8) for name in ("conv.bias", "scale", "shift", "mean")),
        weight("head.bias", 10),
        numpy_helper.from_array(np.ones(8, np.float32), "variance"),
    ]
    return model(nodes, [floats("x", [batch, 3, 8, 8])], [floats("y", [batch, 10])], weights, opset)


def attention(sequence=5):
    """Returns self-attention with two heads, a layer norm and an integer input as the mask."""
    node = helper.make_node
    nodes = [
        node("LayerNormalization", ["x", "norm.scale", "norm.bias"], ["n"]),
        *(node("MatMul", ["n", f"w{k}"], [f"{k}0"]) for k in "qkv"),
        *(node("Reshape", [f"{k}0", "heads"], [f"{k}1"]) for k in "qkv"),
        node("Transpose", ["q1"], ["q"], perm=[0, 2, 1, 3]),
        node("Transpose", ["k1"], ["k"], perm=[0, 2, 3, 1]),
        node("Transpose", ["v1"], ["v"], perm=[0, 2, 1, 3]),
        node("MatMul", ["q", "k"], ["s0"]),
        node("Mul", ["s0", "scale"], ["s1"]),
        node("Cast", ["mask"], ["m0"], to=TensorProto.BOOL),
        node("Where", ["m0", "s1", "minus"], ["s2"]),
        node("Softmax", ["s2"], ["p"], axis=-1),
        node("MatMul", ["p", "v"], ["o0"]),
        node("Transpose", ["o0"], ["o1"], perm=[0, 2, 1, 3]),
        node("Reshape", ["o1", "flat"], ["o2"]),
        node("Add", ["x", "o2"], ["y"]),
    ]
    constants = [
        numpy_helper.from_array(np.array([0, 0, 2, 8], np.int64), "heads"),
        numpy_helper.from_array(np.array([0, 0, 16], np.int64), "flat"),
        numpy_helper.from_array(np.array(8**-0.5, np.float32), "scale"),
        numpy_helper.from_array(np.array(-1e9, np.float32), "minus"),
        weight("norm.scale", 16),
        weight("norm.bias", 16),
        *(weight(f"w{k}", 16, 16) for k in "qkv"),
    ]
    mask = helper.make_tensor_value_info("mask", TensorProto.INT64, [1, 1, sequence, sequence])
    inputs = [floats("x", [1, sequence, 16]), mask]
    outputs = [floats("y", [1, sequence, 16]), floats("p", [1, 2, sequence, sequence])]
    return model(nodes, inputs, outputs, constants)


@pytest.fixture
def saved(tmp_path):
    def save(proto, name="model.onnx", **options):
        onnx.save(proto, tmp_path / name, **options)
        return str(tmp_path / name)

    return save


@pytest.mark.parametrize("runner", ["reference", "iree-cpu"])
def test_attention_block(saved, runner):
    program = unmess.capture(saved(attention()))
    assert set(program.weights) == {"wq", "wk", "wv", "norm.scale", "norm.bias"}
    report = unmess.check(program, on=runner, calls=1)
    assert report.ok, report.error
    assert len(report.differences) == 2
    assert any("compared with onnxruntime" in str(note) for note in report.notes)


@pytest.mark.parametrize("runner", ["reference", "iree-cpu"])
def test_cnn_with_a_dynamic_batch(saved, runner):
    program = unmess.capture(saved(cnn("N")))
    assert program.args[0].shape == (2, 3, 8, 8)
    assert unmess.check(program, on=runner, calls=1).ok
    run = unmess.load(program, on=runner)
    x = torch.randn(5, 3, 8, 8)
    torch.testing.assert_close(run(x=x), program.eager(x), atol=1e-5, rtol=1e-5)
    with pytest.raises(unmess.Error, match=r"has dtype torch\.float64"):
        run(x.double())


def test_weights_are_named_arguments_or_literals(saved):
    program = unmess.capture(saved(cnn()), (torch.ones(2, 3, 8, 8),))
    text = unmess.lower(program, to="torch").text()
    assert '%conv.weight: !torch.vtensor<[8,3,3,3],f32> {unmess.weight = "conv.weight"}' in text
    inline = unmess.lower(program, to="linalg", weights="elide")
    assert not inline.weights and "%conv.weight:" not in inline.text()


def test_ops_command(saved):
    done = CliRunner().invoke(cli, ["ops", saved(cnn())], standalone_mode=False)
    assert done.return_value == 0, done.output
    assert "0 of 18 distinct calls do not lower to linalg" in done.output


def test_old_opset_is_converted(saved):
    program = unmess.capture(saved(cnn(opset=9)))
    assert any("converted from opset 9 to 17" in str(note) for note in program.notes)
    assert unmess.check(program, on="reference", calls=1).ok


def test_operator_without_a_lowering(saved):
    node = helper.make_node("Mine", ["x"], ["y"], domain="mine")
    proto = model([node], [floats("x", [2, 3])], [floats("y", [2, 3])])
    proto.opset_import.append(helper.make_opsetid("mine", 1))
    with pytest.raises(unmess.Error, match=r"onnx\.mine\.Mine .* has no lowering") as caught:
        unmess.capture(saved(proto))
    assert caught.value.stage == "import"


def fails(path, message):
    with pytest.raises(unmess.Error, match=message) as caught:
        unmess.capture(path)
    assert caught.value.stage == "source"
    assert caught.value.hint


def test_wrong_versions(saved):
    fails(saved(cnn(opset=99)), "has opset 99, newer than onnx")
    newer = cnn()
    newer.ir_version = 99
    fails(saved(newer), "has IR version 99, newer than")
    fails(saved(cnn(opset=1)), "has opset 1, which is too old and does not convert")


@pytest.mark.parametrize("content", [b"", b"hello", b"\x08"])
def test_other_content(tmp_path, content):
    path = tmp_path / "file.onnx"
    path.write_bytes(content)
    fails(str(path), "is not an ONNX model")


def test_half_a_file(saved, tmp_path):
    path = tmp_path / "half.onnx"
    path.write_bytes(cnn().SerializeToString()[:500])
    fails(str(path), "is not an ONNX model, or is damaged")


def test_invalid_graph(saved):
    proto = model([helper.make_node("Relu", ["nothing"], ["y"])], [], [floats("y", [1])])
    fails(saved(proto), "is not a valid ONNX model: .*nothing")


def test_missing_file(saved):
    path = saved(cnn())
    with pytest.raises(unmess.Error) as caught:
        unmess.capture(path.replace("model", "modle"))
    assert caught.value.hint == f"did you mean {path}?"


def test_package_that_is_absent(saved, monkeypatch):
    path = saved(cnn())
    monkeypatch.setitem(__import__("sys").modules, "onnx", None)
    fails(path, "need the package onnx")


def test_dynamic_shapes_are_in_the_file(saved):
    with pytest.raises(unmess.Error, match="dynamic_shapes is given for an ONNX model"):
        unmess.capture(saved(cnn()), dynamic_shapes=({0: torch.export.Dim("n", max=4)},))
