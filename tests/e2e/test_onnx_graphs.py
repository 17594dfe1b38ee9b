"""Tests of ONNX files with external data, options as inputs, functions, branches and loops."""

import json
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from click.testing import CliRunner
from onnx import TensorProto, helper, numpy_helper

import unmess
from unmess.cli import cli

RUNNERS = ["reference", "iree-cpu"]
# A BERT with one layer and two dynamic sizes, written by torch.onnx.export(dynamo=True).
BERT = Path(__file__).with_name("files") / "bert.onnx"
node = helper.make_node


def value(name, shape, kind=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def constant(name, numbers, dtype=np.int64):
    return numpy_helper.from_array(np.array(numbers, dtype), name)


def weights(name, *shape):
    numbers = np.random.default_rng(sum(shape)).standard_normal(shape) * 0.3
    return numpy_helper.from_array(numbers.astype(np.float32), name)


def model(nodes, inputs, outputs, initializers=(), opset=20, functions=()):
    graph = helper.make_graph(nodes, "graph", inputs, outputs, list(initializers))
    domains = {"", *(each.domain for each in functions)}
    return helper.make_model(
        graph,
        opset_imports=[helper.make_opsetid(d, opset if not d else 1) for d in sorted(domains)],
        functions=list(functions),
        ir_version=10,
    )


@pytest.fixture
def saved(tmp_path):
    def save(proto, name="model.onnx", **options):
        onnx.save(proto, tmp_path / name, **options)
        return str(tmp_path / name)

    return save


def layer():
    """Returns a layer that stores the shape for Reshape as an initializer, like its weights."""
    nodes = [
        node("MatMul", ["x", "layer.weight"], ["h"]),
        node("Add", ["h", "layer.bias"], ["b"]),
        node("Reshape", ["b", "shape"], ["y"]),
    ]
    initializers = [
        weights("layer.weight", 4, 6),
        weights("layer.bias", 6),
        constant("shape", [0, 2, 3]),
    ]
    return model(nodes, [value("x", ["n", 4])], [value("y", ["n", 2, 3])], initializers)


@pytest.mark.parametrize("runner", RUNNERS)
def test_external_data(saved, runner):
    path = saved(layer(), save_as_external_data=True, location="weights.bin", size_threshold=0)
    program = unmess.capture(path)
    assert set(program.weights) == {"layer.weight", "layer.bias"}
    expected = unmess.capture(saved(layer(), "whole.onnx"))
    for name, tensor in expected.weights.items():
        assert torch.equal(program.weights[name], tensor)
    report = unmess.check(program, on=runner, calls=1)
    assert report.ok, report.error
    assert any("compared with onnxruntime" in str(note) for note in report.notes)


def test_external_data_that_is_damaged(saved, tmp_path):
    path = saved(layer(), save_as_external_data=True, location="weights.bin", size_threshold=0)
    (tmp_path / "weights.bin").write_bytes(b"short")
    with pytest.raises(unmess.Error, match=r"weights\.bin is too short"):
        unmess.capture(path)
    (tmp_path / "weights.bin").unlink()
    with pytest.raises(unmess.Error, match=r"the file weights\.bin with the weights of"):
        unmess.capture(path)


def test_external_data_outside_of_the_folder(saved, tmp_path):
    proto = layer()
    path = saved(proto, save_as_external_data=True, location="weights.bin", size_threshold=0)
    (tmp_path.parent / "weights.bin").write_bytes((tmp_path / "weights.bin").read_bytes())
    proto = onnx.load(path, load_external_data=False)
    for tensor in proto.graph.initializer:
        for entry in tensor.external_data:
            if entry.key == "location":
                entry.value = "../weights.bin"
    (tmp_path / "other.onnx").write_bytes(proto.SerializeToString())
    with pytest.raises(unmess.Error) as caught:
        unmess.capture(str(tmp_path / "other.onnx"))
    assert caught.value.stage == "source"


def test_external_data_that_changes_is_read_again(saved, tmp_path):
    path = saved(layer(), save_as_external_data=True, location="weights.bin", size_threshold=0)

    def check():
        command = ["check", path, "--json", "--on", "reference"]
        done = CliRunner().invoke(cli, command, standalone_mode=False)
        (row,) = json.loads(done.stdout)
        assert row["ok"], row

    check()
    program = unmess.capture(path)
    before = program.eager(torch.ones(2, 4))
    content = np.frombuffer((tmp_path / "weights.bin").read_bytes(), np.uint8).copy()
    content[:4] = np.frombuffer(np.float32(100).tobytes(), np.uint8)
    (tmp_path / "weights.bin").write_bytes(content.tobytes())
    after = unmess.capture(path).eager(torch.ones(2, 4))
    assert not torch.equal(before, after)
    check()


def reduction():
    return model(
        [node("ReduceSum", ["x", "axes"], ["y"], keepdims=0)],
        [value("x", [2, 3, 4]), value("axes", [1], TensorProto.INT64)],
        [value("y", ["a", "b"])],
    )


@pytest.mark.parametrize("runner", RUNNERS)
def test_axes_as_an_input_are_fixed_to_the_example(saved, runner):
    x = torch.randn(2, 3, 4)
    program = unmess.capture(saved(reduction()), (x, torch.tensor([1])))
    assert any("fixed to the example's values: axes = " in str(note) for note in program.notes)
    run = unmess.load(program, on=runner)
    torch.testing.assert_close(run(x, torch.tensor([1])), x.sum(1))
    torch.testing.assert_close(run(x=x, axes=torch.tensor([1])), x.sum(1))
    with pytest.raises(unmess.Error, match=r"axes is \[2\], but the capture fixed it to \[1\]"):
        run(x, torch.tensor([2]))
    with pytest.raises(unmess.Error, match=r"axes has dtype torch\.int32"):
        run(x, torch.tensor([1], dtype=torch.int32))
    assert unmess.check(program, on=runner, calls=1).ok


def test_fixed_inputs_in_written_ir(saved, tmp_path):
    x = torch.randn(2, 3, 4)
    program = unmess.capture(saved(reduction()), (x, torch.tensor([1])))
    module = unmess.lower(program, to="linalg")
    module.save(tmp_path / "model.mlir")
    run = unmess.load(str(tmp_path / "model.mlir"))
    torch.testing.assert_close(run(x, torch.tensor([1])), x.sum(1))
    with pytest.raises(unmess.Error, match="but the capture fixed it to"):
        run(x, torch.tensor([0]))


def test_sizes_that_depend_on_data_are_refused(saved):
    nodes = [
        node("Cast", ["x"], ["i"], to=TensorProto.INT64),
        node("ReduceSum", ["i"], ["n"], keepdims=0),
        node("Unsqueeze", ["n", "zero"], ["shape"]),
        node("Expand", ["one", "shape"], ["y"]),
    ]
    initializers = [constant("zero", [0]), constant("one", [1.0], np.float32)]
    proto = model(nodes, [value("x", [400])], [value("y", ["n"])], initializers)
    with pytest.raises(unmess.Error, match="input 2 of Expand depends on the values of x"):
        unmess.capture(saved(proto), (torch.ones(400),))


@pytest.mark.parametrize("runner", RUNNERS)
def test_computed_shapes_with_dynamic_sizes(saved, runner):
    nodes = [
        node("Shape", ["x"], ["s"]),
        node("Gather", ["s", "zero"], ["n"]),
        node("Gather", ["s", "one"], ["m"]),
        node("Mul", ["n", "m"], ["nm"]),
        node("Concat", ["nm", "rest"], ["shape"], axis=0),
        node("Reshape", ["x", "shape"], ["y"]),
    ]
    initializers = [constant("zero", [0]), constant("one", [1]), constant("rest", [-1])]
    proto = model(nodes, [value("x", ["n", "m", 6])], [value("y", ["nm", 6])], initializers)
    report = unmess.check(unmess.capture(saved(proto)), on=runner, calls=1)
    assert report.ok, report.error
    assert len(report.sizes) == 2 and all(size.ok for size in report.sizes)


def test_a_dynamic_size_that_the_graph_fixes(saved):
    proto = model(
        [node("Reshape", ["x", "shape"], ["y"])],
        [value("x", ["n", 6])],
        [value("y", [3, 4])],
        [constant("shape", [3, 4])],
    )
    program = unmess.capture(saved(proto))
    assert any("the graph fixes sizes that are dynamic" in str(n) for n in program.notes)
    assert unmess.check(program, on="reference", calls=1).ok
    with pytest.raises(unmess.Error, match=r"x\.shape\[0\] is 4"):
        unmess.load(program)(torch.zeros(4, 6))


def gated():
    """Returns a model with a function of its own. The node that calls it sets an attribute."""
    body = [
        helper.make_node("Sigmoid", ["x"], ["s"]),
        helper.make_node("Mul", ["x", "s"], ["m"]),
        helper.make_node("LeakyRelu", ["m"], ["y"]),
    ]
    reference = onnx.AttributeProto(
        name="alpha", ref_attr_name="slope", type=onnx.AttributeProto.FLOAT
    )
    body[2].attribute.append(reference)
    function = helper.make_function(
        "mine", "Gated", ["x"], ["y"], body, [helper.make_opsetid("", 20)], ["slope"]
    )
    nodes = [node("Gated", ["x"], ["y"], domain="mine", slope=0.5)]
    return model(nodes, [value("x", [2, 3])], [value("y", [2, 3])], functions=[function])


@pytest.mark.parametrize("runner", RUNNERS)
def test_function_of_the_model(saved, runner):
    report = unmess.check(unmess.capture(saved(gated())), on=runner, calls=1)
    assert report.ok, report.error


def branches():
    def graph(name, op):
        return helper.make_graph([node(op, ["x"], [name])], name, [], [value(name, [2, 3])])

    nodes = [
        node("ReduceMean", ["x"], ["mean"], keepdims=0),
        node("Greater", ["mean", "zero"], ["c"]),
        node("If", ["c"], ["y"], then_branch=graph("a", "Exp"), else_branch=graph("b", "Neg")),
    ]
    zero = [constant("zero", 0.0, np.float32)]
    return model(nodes, [value("x", [2, 3])], [value("y", [2, 3])], zero)


@pytest.mark.parametrize("runner", RUNNERS)
def test_branches_on_a_value(saved, runner):
    program = unmess.capture(saved(branches()), (torch.ones(2, 3),))
    run = unmess.load(program, on=runner)
    x = torch.rand(2, 3) + 0.1
    torch.testing.assert_close(run(x), x.exp())
    torch.testing.assert_close(run(-x), x)


def loop(count):
    body = helper.make_graph(
        [
            node("Add", ["s", "x"], ["t"]),
            node("Identity", ["c"], ["d"]),
            node("Mul", ["t", "t"], ["sq"]),
        ],
        "body",
        [value("i", [], TensorProto.INT64), value("c", [], TensorProto.BOOL), value("s", [3])],
        [value("d", [], TensorProto.BOOL), value("t", [3]), value("sq", [3])],
    )
    nodes = [node("Loop", ["count", "", "start"], ["y", "all"], body=body)]
    initializers = [constant("count", count), constant("start", [0, 0, 0], np.float32)]
    outputs = [value("y", [3]), value("all", [count, 3])]
    return model(nodes, [value("x", [3])], outputs, initializers)


@pytest.mark.parametrize("runner", RUNNERS)
@pytest.mark.parametrize("count", [3, 40])
def test_loop(saved, runner, count):
    program = unmess.capture(saved(loop(count)))
    assert len(unmess.lower(program, to="torch").text()) < 20_000
    report = unmess.check(program, on=runner, calls=1)
    assert report.ok, report.error


BOOL, INT64 = TensorProto.BOOL, TensorProto.INT64


def loop_graph(nodes, state, outputs, name="body"):
    """Returns the body of a loop with one state `s`, whose condition is always true."""
    return helper.make_graph(
        [*nodes, node("Identity", [f"{name}_c"], [f"{name}_d"])],
        name,
        [value(f"{name}_i", [], INT64), value(f"{name}_c", [], BOOL), state],
        [value(f"{name}_d", [], BOOL), *outputs],
    )


def loop_over_elements(sizes):
    """Returns a loop with as many steps as `x` has elements: running sums, and their doubles."""
    nodes = [
        node("Gather", ["x", "body_i"], ["e"]),
        node("Add", ["s", "e"], ["t"]),
        node("Mul", ["t", "two"], ["o"]),
    ]
    body = loop_graph(nodes, value("s", []), [value("t", []), value("o", [])])
    nodes = [
        node("Shape", ["x"], ["shape"]),
        node("Squeeze", ["shape"], ["count"]),
        node("Loop", ["count", "", "zero"], ["y", "all"], body=body),
    ]
    zero, two = constant("zero", 0, np.float32), constant("two", 2, np.float32)
    outputs = [value("y", []), value("all", sizes)]
    return model(nodes, [value("x", sizes)], outputs, [zero, two])


def loop_without_steps():
    nodes = [node("Add", ["s", "x"], ["t"]), node("Neg", ["t"], ["o"])]
    body = loop_graph(nodes, value("s", [3]), [value("t", [3]), value("o", [3])])
    nodes = [node("Loop", ["count", "", "x"], ["y", "all"], body=body)]
    outputs = [value("y", [3]), value("all", [0, 3])]
    return model(nodes, [value("x", [3])], outputs, [constant("count", 0)])


def growing_loop(count, sizes=(3,)):
    nodes = [node("Concat", ["s", "x"], ["t"], axis=0)]
    body = loop_graph(nodes, value("s", [None]), [value("t", [None])])
    nodes = [
        node("Shape", ["x"], ["shape"]),
        node("Squeeze", ["shape"], ["size"]),
        node("Loop", [count, "", "x"], ["y"], body=body),
    ]
    return model(nodes, [value("x", sizes)], [value("y", [None])], [constant("many", 12)])


def loop_in_a_loop():
    nodes = [node("Add", ["p", "s"], ["q"]), node("Mul", ["q", "x"], ["o"])]
    inner = loop_graph(nodes, value("p", [3]), [value("q", [3]), value("o", [3])], "inner")
    nodes = [node("Loop", ["steps", "", "s"], ["t", "all_o"], body=inner)]
    outer = loop_graph(nodes, value("s", [3]), [value("t", [3]), value("all_o", [9, 3])], "outer")
    nodes = [node("Loop", ["steps", "", "x"], ["y", "all"], body=outer)]
    outputs = [value("y", [3]), value("all", [9, 9, 3])]
    return model(nodes, [value("x", [3])], outputs, [constant("steps", 9)])


def branches_in_a_loop():
    def branch(name, op):
        nodes = [node(op, ["s", "x"], [name])]
        return helper.make_graph(nodes, name, [], [value(name, [3])])

    nodes = [
        node("ReduceSum", ["s"], ["sum"], keepdims=0),
        node("Less", ["sum", "limit"], ["is_small"]),
        node(
            "If",
            ["is_small"],
            ["t"],
            then_branch=branch("a", "Add"),
            else_branch=branch("b", "Sub"),
        ),
    ]
    body = loop_graph(nodes, value("s", [3]), [value("t", [3])])
    nodes = [node("Loop", ["count", "", "x"], ["y"], body=body)]
    initializers = [constant("count", 12), constant("limit", 2, np.float32)]
    return model(nodes, [value("x", [3])], [value("y", [3])], initializers)


def backward_scan():
    nodes = [node("Add", ["s", "e"], ["t"]), node("Mul", ["t", "x"], ["o"])]
    body = helper.make_graph(
        nodes, "body", [value("s", [3]), value("e", [3])], [value("t", [3]), value("o", [3])]
    )
    options = {"scan_input_axes": [-1], "scan_input_directions": [1]}
    options |= {"scan_output_axes": [1], "scan_output_directions": [1]}
    scan = node("Scan", ["x", "rows"], ["y", "all"], body=body, num_scan_inputs=1, **options)
    outputs = [value("y", [3]), value("all", [3, 12])]
    return model([scan], [value("x", [3])], outputs, [weights("rows", 3, 12)])


CONTROL_FLOW = {
    "loop over elements": loop_over_elements(["n"]),
    "loop over 12 elements": loop_over_elements([12]),
    "loop without steps": loop_without_steps(),
    "growing loop": growing_loop("many"),
    "loop in a loop": loop_in_a_loop(),
    "branches in a loop": branches_in_a_loop(),
    "backward scan": backward_scan(),
}


@pytest.mark.parametrize("runner", RUNNERS)
@pytest.mark.parametrize("name", CONTROL_FLOW)
def test_control_flow(saved, name, runner):
    file = saved(CONTROL_FLOW[name])
    program = unmess.capture(file)
    run, session = unmess.load(program, on=runner), onnxruntime.InferenceSession(file)
    size = session.get_inputs()[0].shape[0]
    for length in (5, 1, 0) if size == "n" else (size, size):
        x = torch.randn(length)
        expected = [torch.from_numpy(np.asarray(y)) for y in session.run(None, {"x": x.numpy()})]
        found = run(x)
        found = list(found) if isinstance(found, tuple) else [found]
        torch.testing.assert_close(found, expected)


def test_loop_of_dynamic_length_whose_state_grows(saved):
    with pytest.raises(unmess.Error, match="state that changes its shape") as caught:
        unmess.capture(saved(growing_loop("size", ["n"])))
    assert caught.value.stage == "import"


def test_branches_of_different_ranks(saved):
    def branch(name, op, shape, inputs):
        return helper.make_graph([node(op, inputs, [name])], name, [], [value(name, shape)])

    proto = model(
        [
            node(
                "If",
                ["c"],
                ["either"],
                then_branch=branch("a", "Unsqueeze", [1, 3], ["x", "axes"]),
                else_branch=branch("b", "Neg", [3], ["x"]),
            ),
            node("Flatten", ["either"], ["y"], axis=0),
        ],
        [value("x", [3]), value("c", [], BOOL)],
        [value("y", [1, 3])],
        [constant("axes", [0])],
    )
    with pytest.raises(unmess.Error, match="branches that return tensors of different ranks"):
        unmess.capture(saved(proto))


def lstm(steps):
    nodes = [node("LSTM", ["x", "W", "R", "B", "", "", "", "P"], ["y", "h", "c"], hidden_size=3)]
    initializers = [
        weights("W", 1, 12, 4),
        weights("R", 1, 12, 3),
        weights("B", 1, 24),
        weights("P", 1, 9),
    ]
    outputs = [value("y", [steps, 1, 2, 3]), value("h", [1, 2, 3]), value("c", [1, 2, 3])]
    return model(nodes, [value("x", [steps, 2, 4])], outputs, initializers)


@pytest.mark.parametrize("runner", RUNNERS)
@pytest.mark.parametrize("steps", [2, 30])
def test_lstm_with_peepholes(saved, runner, steps):
    program = unmess.capture(saved(lstm(steps)))
    report = unmess.check(program, on=runner, calls=1)
    assert report.ok, report.error


@pytest.fixture(scope="module")
def bert():
    return unmess.capture(str(BERT))


@pytest.mark.parametrize("runner", RUNNERS)
def test_bert_of_the_dynamo_exporter(bert, runner):
    program = bert
    report = unmess.check(program, on=runner, calls=1)
    assert report.ok, report.error
    assert len(report.sizes) == 2 and all(size.ok for size in report.sizes)


def test_failure_of_onnxruntime_is_not_reported_as_pytorchs(saved, monkeypatch):
    def fails(*_args, **_kwargs):
        raise RuntimeError("no such kernel")

    program = unmess.capture(saved(layer()))
    monkeypatch.setattr(onnxruntime.InferenceSession, "run", fails)
    with pytest.raises(unmess.Error) as caught:
        unmess.check(program, calls=1)
    assert "onnxruntime fails on the model" in caught.value.cause
    assert "no such kernel" in caught.value.cause
    assert "PyTorch" not in caught.value.cause


def test_evaluator_where_onnxruntime_refuses(saved, monkeypatch):
    def refuses(*_args, **_kwargs):
        raise RuntimeError("unknown operator")

    program = unmess.capture(saved(layer()))
    monkeypatch.setattr(onnxruntime, "InferenceSession", refuses)
    report = unmess.check(program, calls=1)
    assert report.ok, report.error
    assert any("onnxruntime rejects the model: RuntimeError" in str(n) for n in report.notes)


def test_evaluator_where_onnxruntime_is_absent(saved, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "onnxruntime", None)
    program = unmess.capture(saved(layer()))
    report = unmess.check(program, calls=1)
    assert report.ok, report.error
    assert any("compared with onnx's reference evaluator" in str(n) for n in report.notes)


def test_integers_of_4_bits(saved):
    proto = model(
        [node("DequantizeLinear", ["x", "scale"], ["y"])],
        [value("x", [2, 3], TensorProto.INT4)],
        [value("y", [2, 3])],
        [constant("scale", 0.5, np.float32)],
        opset=21,
    )
    x = torch.tensor([[-8, 7, 0], [1, -1, 3]], dtype=torch.int8)
    program = unmess.capture(saved(proto), (x,))
    assert any("each element is stored in a wider type" in str(note) for note in program.notes)
    assert torch.equal(unmess.load(program)(x), x * 0.5)


@pytest.mark.parametrize("runner", RUNNERS)
def test_random_numbers(saved, runner):
    nodes = [
        node("Bernoulli", ["x"], ["b"]),
        node("RandomNormalLike", ["x"], ["n"], mean=3.0, scale=0.5),
        node("RandomUniform", [], ["u"], low=-1.0, high=3.0, shape=[40, 50]),
        node("Dropout", ["x", "ratio", "training"], ["d", "kept"]),
    ]
    outputs = [value(name, [40, 50]) for name in "bnud"]
    initializers = [constant("ratio", 0.25, np.float32), constant("training", True, np.bool_)]
    proto = model(nodes, [value("x", [40, 50])], outputs, initializers)
    x = torch.full((40, 50), 0.3)
    b, n, u, d = unmess.load(unmess.capture(saved(proto), (x,)), on=runner)(x)
    assert set(b.unique().tolist()) == {0.0, 1.0} and abs(b.mean() - 0.3) < 0.05
    assert abs(n.mean() - 3) < 0.05 and abs(n.std() - 0.5) < 0.05
    assert u.min() >= -1 and u.max() < 3 and abs(u.mean() - 1) < 0.12
    assert abs((d == 0).float().mean() - 0.25) < 0.05
    torch.testing.assert_close(d.max(), torch.tensor(0.4))
