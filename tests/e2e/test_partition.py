"""Programs of which a part runs in eager PyTorch, compared with eager PyTorch."""

import gc
import json
import warnings
import weakref
from pathlib import Path
from typing import ClassVar

import pytest
import torch
from torch.fx.experimental.proxy_tensor import make_fx

import unmess
from pipelines.backends.table import REGISTERED
from unmess.partition import partition_graph


@torch.library.custom_op("unmess_partition::twice", mutates_args=())
def twice(x: torch.Tensor) -> torch.Tensor:
    return 2 * x


@twice.register_fake
def _(x):
    return torch.empty_like(x)


@torch.library.custom_op("unmess_partition::halves", mutates_args=())
def halves(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return x[: x.shape[0] // 2].clone(), x[x.shape[0] // 2 :].clone()


@halves.register_fake
def _(x):
    half = x.shape[0] // 2
    return x.new_empty((half, *x.shape[1:])), x.new_empty((x.shape[0] - half, *x.shape[1:]))


def dense(x):
    """Returns enough operators for a region."""
    return torch.sigmoid(torch.relu(x * 3 + 1)) - x


def loaded(model, args, on="reference", dynamic=None, **options):
    program = unmess.capture(model, args, dynamic_shapes=dynamic)
    return unmess.load(program, on=on, fallback="eager", **options)


def compare(run, model, *args):
    """Calls both sides on copies of the arguments; returns the arguments after the call."""
    mine, theirs = ([a.clone() for a in args] for _ in range(2))
    with torch.no_grad():
        expected = model(*theirs)
    torch.testing.assert_close(run(*mine), expected, equal_nan=True)
    return mine, theirs


def operators(run):
    (partition,) = run.partitions.values()
    return [each.operator for each in partition.outside]


def regions(run):
    (partition,) = run.partitions.values()
    return len(partition.regions)


@pytest.mark.parametrize("on", ["reference", "iree-cpu"])
def test_an_operator_in_the_middle(on):
    def model(x):
        return dense(twice(dense(x)))

    run = loaded(model, (torch.randn(3, 4),), on)
    compare(run, model, torch.randn(3, 4))
    compare(run, model, torch.tensor([[float("nan"), float("inf"), -0.0, 1e30]] * 3))
    assert operators(run) == ["unmess_partition.twice.default"]
    assert regions(run) == 2
    (note,) = [str(note) for note in run.notes if "twice" in str(note)]
    assert f"{__file__}:" in note and "custom operators need a decomposition" in note


def test_a_program_that_lowers_has_no_partition():
    run = loaded(dense, (torch.randn(3),))
    compare(run, dense, torch.randn(3))
    assert run.partitions == {}


def test_parallel_branches_make_no_cycle():
    def model(x):
        a = dense(twice(dense(x)))
        b = dense(x) + twice(dense(x + 1))
        return dense(a * b), dense(twice(a) + twice(b + a))

    run = loaded(model, (torch.randn(5),))
    compare(run, model, torch.randn(5))
    assert len(operators(run)) == 4
    assert regions(run) <= 4


def test_several_results_and_containers():
    def model(x):
        a, b = halves(dense(x))
        return {"a": dense(a), "pair": (b, [x, 3, None])}

    run = loaded(model, (torch.randn(4, 2),))
    x = torch.randn(4, 2)
    expected, found = model(x), run(x)
    assert found["pair"][1][1:] == [3, None]
    torch.testing.assert_close(found["a"], expected["a"])
    torch.testing.assert_close(found["pair"][0], expected["pair"][0])
    torch.testing.assert_close(found["pair"][1][0], x)


class Counting(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 4)
        self.register_buffer("calls", torch.zeros(2))
        self.register_buffer("fixed", torch.ones(40))

    def forward(self, x):
        self.calls += twice(x).sum()
        y = self.layer(x) + self.calls.sum() + self.fixed.mean()
        return dense(twice(dense(y)))


@pytest.mark.parametrize("on", ["reference", "iree-cpu"])
def test_state(on):
    model = Counting()
    run = loaded(model, (torch.randn(3, 4),), on)
    for _ in range(3):
        compare(run, model, torch.randn(3, 4))
        torch.testing.assert_close(run.state["calls"], model.calls)
    if on == "iree-cpu":
        # iree-cpu may have packed the weights when it loaded them, so it may not see a change.
        return
    # Weights are borrowed: a change in place takes effect.
    with torch.no_grad():
        model.layer.weight.mul_(2)
        model.fixed.add_(1)
    compare(run, model, torch.randn(3, 4))


def test_dynamic_sizes():
    def model(x):
        y = twice(dense(x))
        return dense(y.reshape(-1)), torch.cat([y, y]).sum(0), x.shape[0]

    run = loaded(model, (torch.randn(3, 4),), dynamic=["x.0=n:2..9"])
    for n in (2, 3, 9):
        compare(run, model, torch.randn(n, 4))
    with pytest.raises(unmess.Error, match=r"x.shape\[0\] is 10"):
        run(torch.randn(10, 4))


def test_integers_booleans_and_strides():
    def model(x, flags):
        y = twice(x.t())
        mask = flags.logical_not() & (y > 2)
        return torch.where(mask, y, x.t() + 1) * 2 // 3, mask, y.reshape(-1)[::2]

    x = torch.arange(6).reshape(2, 3)
    flags = torch.tensor([[True, False]] * 3)
    run = loaded(model, (x, flags))
    compare(run, model, x, flags)
    compare(run, model, -x, flags.logical_not())
    compare(run, model, torch.arange(6).reshape(3, 2).t(), flags)


def test_results_that_are_views_of_inputs():
    def model(x):
        return x, x.t(), twice(dense(x))[0], x[1:]

    run = loaded(model, (torch.randn(3, 4),))
    x = torch.randn(3, 4)
    compare(run, model, x)
    # The Executable owns its results.
    before = x.clone()
    for result in run(x):
        result.zero_()
    assert torch.equal(x, before)


def test_numbers_from_data_and_empty_results():
    def model(x):
        y = dense(x)
        kept = y[y > 1]
        return dense(kept).sum(), kept.shape[0], y

    run = loaded(model, (torch.randn(6),))
    compare(run, model, torch.randn(6))
    compare(run, model, torch.full((6,), -100.0))


def test_a_wrong_fake_kernel_is_an_error():
    @torch.library.custom_op("unmess_partition::wrong", mutates_args=())
    def wrong(x: torch.Tensor) -> torch.Tensor:
        return x[:1].clone()

    @wrong.register_fake
    def _(x):
        return torch.empty_like(x)

    run = loaded(lambda x: dense(wrong(dense(x))), (torch.randn(4),))
    with pytest.raises(unmess.Error, match=r"run: .*is 1, expected 4"):
        run(torch.randn(4))


def test_lists(monkeypatch):
    def model(x):
        return dense(torch.tanh(dense(x)))

    args = (torch.randn(4),)
    run = loaded(model, args, deny_ops=["aten::tanh"])
    compare(run, model, *args)
    assert operators(run) == ["aten.tanh.default"]
    assert operators(
        loaded(model, args, deny_ops="aten::sigmoid;aten::tanh.default", min_operators=1)
    ) == [
        "aten.sigmoid.default",
        "aten.tanh.default",
        "aten.sigmoid.default",
    ]
    monkeypatch.setenv("UNMESS_DENY_OPS", "aten::tanh")
    assert operators(loaded(model, args, allow_ops=["aten::tanh"])) == ["aten.tanh.default"]
    monkeypatch.setenv("UNMESS_DENY_OPS", "aten::tanhh")
    with pytest.raises(unmess.Error, match="UNMESS_DENY_OPS: there is no operator") as caught:
        loaded(model, args)
    assert "aten::tanh" in caught.value.hint
    monkeypatch.delenv("UNMESS_DENY_OPS")
    with pytest.raises(unmess.Error, match="need a fallback"):
        unmess.load(unmess.capture(model, args), deny_ops=["aten::tanh"])
    monkeypatch.setenv("UNMESS_ALLOW_OPS", "unmess_partition::twice")
    with pytest.raises(unmess.Error, match="is in allow_ops, but does not compile") as caught:
        loaded(lambda x: dense(twice(x)), args)
    assert caught.value.where.startswith(__file__)


def test_small_regions_run_in_eager():
    def model(x):
        return twice(twice(x) + 1) * 2 @ x

    x = torch.randn(4, 4)
    run = loaded(model, (x,))
    compare(run, model, x)
    # The last region has a matrix product.
    assert regions(run) == 1
    assert "aten.add.Tensor" in operators(run)
    run = loaded(model, (x,), min_operators=1)
    compare(run, model, x)
    assert regions(run) == 2


def test_graph_of_aot_autograd_with_training():
    from torch._dynamo.backends.common import aot_autograd

    found = []

    def compiler(graph, _example):
        partition = partition_graph(graph)
        found.append(partition)

        def run(args):
            return partition.graph_module(*args)

        run._boxed_call = True
        return run

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.BatchNorm1d(4))

        def forward(self, x):
            x.mul_(2)
            return dense(torch.cummax(self.layers(x), 0).values).t(), x.shape[0]

    torch.manual_seed(0)
    mine, theirs = Model(), Model()
    theirs.load_state_dict(mine.state_dict())
    compiled = torch.compile(mine, backend=aot_autograd(fw_compiler=compiler), dynamic=True)
    for n in (3, 5):
        x = torch.randn(n, 4)
        own, other = x.clone(), x.clone()
        (y, count), (expected, _) = compiled(own), theirs(other)
        assert count == n
        torch.testing.assert_close(y, expected)
        assert y.stride() == expected.stride()
        torch.testing.assert_close(own, other)
        y.square().sum().backward()
        expected.square().sum().backward()
    for a, b in zip(mine.parameters(), theirs.parameters(), strict=True):
        torch.testing.assert_close(a.grad, b.grad)
    for a, b in zip(mine.buffers(), theirs.buffers(), strict=True):
        torch.testing.assert_close(a, b)
    assert len(found) == 2


def test_an_operator_that_was_decomposed_can_be_denied():
    def model(x):
        return dense(torch.cummax(dense(x), 0).values)

    run = loaded(model, (torch.randn(3, 4),), deny_ops=["aten::cummax"])
    compare(run, model, torch.randn(3, 4))
    (partition,) = run.partitions.values()
    assert {each.reason for each in partition.outside} == {"aten::cummax is denied"}
    assert regions(run) == 2


def test_a_backend_of_the_user_is_asked(monkeypatch, tmp_path):
    """`NumpyBackend` supports sums, products, matrix products and relu, but not tanh."""
    monkeypatch.setenv("UNMESS_CACHE", str(tmp_path))
    file = Path(__file__).parents[1] / "shared/numpy_backend.py"

    def model(x):
        y = torch.relu(x @ x) * x + x
        return torch.relu(torch.tanh(y) @ x) * x

    x = torch.randn(3, 3)
    with pytest.warns(UserWarning, match=r"aten.tanh.default at .*test_partition.py:\d+ runs in"):
        run = loaded(model, (x,), f"{file}:NumpyBackend")
    compare(run, model, x)
    assert operators(run) == ["aten.tanh.default"]
    assert regions(run) == 2
    (partition,) = run.partitions.values()
    assert partition.outside[0].reason == "compile: numpy does not support torch.aten.tanh"


def test_an_operator_that_only_fails_in_the_compiler(monkeypatch, tmp_path):
    """The second load finds the answer in the cache, and does not try the operator again."""

    class Picky:
        name = "picky"
        input = unmess.BackendInput(stage="linalg", weights="inline")
        compiled: ClassVar = []

        def identity(self):
            return "test_an_operator_that_only_fails_in_the_compiler"

        def compile(self, module, folder):
            Picky.compiled.append(module)
            if "math.tanh" in module.text():
                raise ValueError("no tanh today")
            return unmess.load(module, on="reference")

        def load(self, artifact):
            (entry,) = artifact.signatures
            return lambda *arguments: artifact._invoke(entry, arguments)

    def model(x):
        return dense(torch.tanh(dense(x)))

    monkeypatch.setenv("UNMESS_CACHE", str(tmp_path))
    monkeypatch.setitem(REGISTERED, "picky", Picky())
    with pytest.warns(UserWarning, match=r"aten.tanh.default at .*test_partition.py:\d+ runs in"):
        run = loaded(model, (torch.randn(4),), "picky")
    compare(run, model, torch.randn(4))
    assert operators(run) == ["aten.tanh.default"]
    assert regions(run) == 2
    before = len(Picky.compiled)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run = loaded(model, (torch.randn(4),), "picky")
    assert operators(run) == ["aten.tanh.default"]
    assert len(Picky.compiled) == before + 2


def test_regions_with_dynamic_sizes_check_their_arguments():
    def function(x, y):
        return (x * y + x,)

    example = torch.ones(3, 4)
    graph = make_fx(function, tracing_mode="symbolic")(example, example.clone())
    run = partition_graph(graph).graph_module
    x, y = torch.randn(5, 6), torch.randn(6, 5).t()
    for call in [(x, y), (x[1:], y[1:]), (x[:, ::2], y[:, ::2])]:
        torch.testing.assert_close(run(*call), function(*call))
    for call in [(x, y[1:]), (x, y[:, 1:]), (x, y.double()), (x[0], y), (x, y.to("meta"))]:
        with pytest.raises(unmess.Error) as caught:
            run(*call)
        assert caught.value.stage == "run"


def test_in_place_forms_are_denied_by_the_name_of_the_operator():
    def model(x):
        return dense(torch.nn.functional.hardswish(dense(x), inplace=True))

    run = loaded(model, (torch.randn(3, 4),), deny_ops=["aten::hardswish"])
    compare(run, model, torch.randn(3, 4))
    assert regions(run) == 2


def test_programs_are_freed_without_the_garbage_collector():
    """Objects in reference cycles still exist when Python ends, and IREE then prints them all."""

    def model(x):
        return dense(twice(dense(x)))

    run = loaded(model, (torch.randn(4),))
    alive = weakref.ref(run)
    gc.disable()
    try:
        del run
        assert alive() is None
    finally:
        gc.enable()


def test_commands(unmess_command, tmp_path):
    file = tmp_path / "mymodel.py"
    file.write_text(
        "import torch\n"
        "def model():\n"
        "    def call(x): return torch.tanh(torch.sin(torch.relu(x @ x) + 1)) @ x\n"
        "    return call, (torch.ones(3, 3),)\n"
    )
    written = tmp_path / "partition.json"
    drawing = tmp_path / "partition.html"
    options = ["--on", "reference", "--deny-op", "aten::sin"]
    ran = unmess_command(
        "partition", str(file), *options, "--json", "-o", str(written), "--html", str(drawing)
    )
    assert ran.returncode == 0, ran.stderr
    (entry,) = json.loads(ran.stdout)["entries"].values()
    assert [region["operators"] for region in entry["regions"]] == [3, 2]
    (outside,) = entry["outside"]
    assert outside["operator"] == "aten.sin.default"
    assert outside["where"] == f"{file}:3"
    assert outside["reason"] == "aten::sin is denied"
    assert json.loads(written.read_text())["entries"]["main"] == entry
    assert "region_1: 2 operators" in drawing.read_text()
    ran = unmess_command("check", str(file), *options, "--fallback", "eager", "--json")
    (row,) = json.loads(ran.stdout)
    assert row["ok"], row["error"]
    assert any("aten.sin.default" in note for note in row["notes"])
    ran = unmess_command("run", str(file), *options, "--fallback", "eager", "--json")
    assert any("aten.sin.default" in note for note in json.loads(ran.stdout)["notes"])
    ran = unmess_command("run", str(file), *options)
    assert ran.returncode == 2
    assert "allow_ops and deny_ops need a fallback" in ran.stderr
