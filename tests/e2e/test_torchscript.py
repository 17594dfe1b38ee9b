"""Tests of TorchScript modules, functions and files, compared with TorchScript's results."""

from typing import NamedTuple

import pytest
import torch
import torchvision

import unmess


def matches(model, args=(), kwargs=None, on="reference", **options):
    program = unmess.capture(model, args, kwargs, **options)
    report = unmess.check(program, on=on, calls=1)
    assert report.ok, report.error
    return program


class Pair(NamedTuple):
    left: torch.Tensor
    count: int


class Everything(torch.nn.Module):
    """Uses branches and loops on ints, containers, strings, dtypes and non-tensor attributes."""

    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList([torch.nn.Linear(4, 4) for _ in range(2)])
        self.scale = 3
        self.offset = torch.randn(4)
        self.names: list[str] = ["a", "b"]

    def forward(self, x: torch.Tensor, n: int = 2, other: torch.Tensor | None = None):
        seen: list[torch.Tensor] = []
        named: dict[str, torch.Tensor] = {}
        for index, layer in enumerate(self.layers):
            x = layer(x)
            if n > index + 1:
                x = torch.relu(x)
            seen.append(x)
            named[f"x{index}"] = x
        for _ in range(n):
            x = x + self.scale * self.offset
        if other is not None:
            x = x + other
        while n < 5:
            n += 2
            x = x * 0.5
        rows, columns = x.shape
        if self.names[1] == "b" and rows % 2 == 1:
            x = x.reshape(columns, rows).to(torch.float64)
        y = torch.zeros([2, 3], dtype=torch.int32)
        y[0] = n
        return seen, named, (x, n), Pair(y, n // 2), x[1:, None], "text", None, float(n) / 2


@pytest.mark.parametrize("on", ["reference", "iree-cpu"])
def test_scripted_control_flow_and_containers(on):
    torch.manual_seed(0)
    program = matches(torch.jit.script(Everything()), (torch.randn(3, 4),), on=on)
    assert program.weights.keys() >= {"layers.0.weight", "layers.1.bias"}


def test_the_other_branches():
    torch.manual_seed(0)
    x = torch.randn(2, 4)
    matches(torch.jit.script(Everything()), (x, 7), {"other": x})


@pytest.mark.parametrize("name, form", [("resnet18", "trace"), ("mobilenet_v3_small", "script")])
def test_torchvision_network(name, form):
    torch.manual_seed(0)
    net = torchvision.models.get_model(name).eval()
    x = torch.randn(1, 3, 64, 64)
    if form == "trace":
        scripted = torch.jit.trace(net, (x,), check_trace=False)
    else:
        scripted = torch.jit.script(net)
    program = unmess.capture(scripted, (x,))
    assert program.exported.state_dict.keys() == net.state_dict().keys()
    with torch.no_grad():
        torch.testing.assert_close(program.exported.module()(x), net(x))
    if form == "trace":
        assert unmess.check(program, on="reference", calls=1).ok


DTYPES = [torch.bool, torch.uint8, torch.int16, torch.int64, torch.float16, torch.bfloat16]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_dtype(dtype):
    @torch.jit.script
    def function(x):
        return x.t(), x.to(torch.int32) + 1, x.to(x.dtype)

    matches(function, (torch.tensor([[0, 1, 1], [1, 0, 3]]).to(dtype),))


class Counter(torch.nn.Module):
    """Assigns one buffer, and writes another one in place."""

    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.zeros(3))
        self.register_buffer("calls", torch.zeros(1, dtype=torch.int64))

    def forward(self, x: torch.Tensor):
        before = self.total
        self.total = self.total + x.sum(0)
        self.calls += 1
        return before, self.total * 2


def test_state():
    program = matches(torch.jit.script(Counter()), (torch.ones(2, 3),))
    run = unmess.load(program)
    for step in range(1, 4):
        before, doubled = run(torch.ones(2, 3))
        assert torch.equal(before, torch.full((3,), 2.0 * (step - 1)))
        assert torch.equal(doubled, torch.full((3,), 4.0 * step))
    assert run.state["calls"].tolist() == [3]


def flatten(x):
    rows, columns = x.shape
    return x.reshape(rows * columns) * 2, torch.ones(rows * 2), x.shape[0] * 2


@pytest.mark.parametrize("form", ["trace", "script"])
def test_dynamic_sizes(form):
    x = torch.randn(3, 4)
    scripted = torch.jit.trace(flatten, (x,)) if form == "trace" else torch.jit.script(flatten)
    rows = torch.export.Dim("rows", min=2, max=64)
    run = unmess.load(unmess.capture(scripted, (x,), dynamic_shapes=({0: rows},)))
    for count in (2, 7):
        x = torch.randn(count, 4)
        for ours, theirs in zip(run(x), scripted(x), strict=True):
            assert ours == theirs if isinstance(theirs, int) else torch.equal(ours, theirs)


def test_traced_module_brings_its_example():
    traced = torch.jit.trace(torch.nn.Linear(3, 2), (torch.randn(5, 3),))
    assert matches(traced).args[0].shape == (5, 3)


def test_source_lines():
    program = unmess.capture(torch.jit.script(Counter()), (torch.ones(2, 3),))
    traces = [node.meta.get("stack_trace") or "" for node in program.exported.graph.nodes]
    line = Counter.forward.__code__.co_firstlineno + 2
    assert any(f'File "{__file__}", line {line},' in trace for trace in traces)


def test_condition_on_a_value_is_refused():
    @torch.jit.script
    def function(x):
        return x * 2 if bool(x.sum() > 0) else x - 1

    with pytest.raises(unmess.Error) as caught:
        unmess.capture(function, (torch.ones(3),), strategy="non-strict")
    assert caught.value.stage == "capture"
    assert caught.value.where.startswith(f"{__file__}:")


def test_exception_of_the_scripted_code():
    class Picky(torch.nn.Module):
        def forward(self, x: torch.Tensor):
            if x.size(0) > 1:
                raise ValueError(f"too many: {x.size(0)}")
            return x

    with pytest.raises(unmess.Error, match="the scripted code raises ValueError: too many: 2") as e:
        unmess.capture(torch.jit.script(Picky()), (torch.ones(2),))
    assert e.value.stage == "source"
    assert e.value.where.startswith(f"{__file__}:")


def test_writing_an_attribute_that_is_not_a_tensor_is_refused():
    class Counting(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.calls = 0

        def forward(self, x: torch.Tensor):
            self.calls += 1
            return x * self.calls

    with pytest.raises(unmess.Error, match=r"writes self.calls, a int"):
        unmess.capture(torch.jit.script(Counting()), (torch.ones(2),))
