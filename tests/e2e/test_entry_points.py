"""Modules whose entry points share weights and state match eager PyTorch."""

import pytest
import torch

import unmess


@pytest.fixture(params=("reference", "iree-cpu"))
def runner(request):
    return request.param


class Memory(torch.nn.Module):
    """Writes rows one after the other into a buffer of fixed size, like a static cache."""

    def __init__(self):
        super().__init__()
        self.project = torch.nn.Linear(4, 4)
        self.register_buffer("rows", torch.zeros(6, 4))
        self.register_buffer("count", torch.zeros((), dtype=torch.int64), persistent=False)

    def fill(self, x):
        self.rows[:3] = self.project(x)
        self.count.fill_(3)
        return {"sum": self.rows.sum(0)}

    def append(self, x, scale=2):
        here = torch.arange(6) == self.count
        self.rows.copy_(torch.where(here[:, None], self.project(x), self.rows))
        self.count.add_(1)
        return self.rows.sum(0) * scale, self.count.clone()

    def read(self):
        return self.rows @ self.project.weight


def memory():
    torch.manual_seed(0)
    return Memory().eval()


def captured(model):
    return unmess.combine(
        {
            "fill": unmess.capture(model.fill, (torch.randn(3, 4),)),
            "append": unmess.capture(model.append, (torch.randn(4),), {"scale": 3}),
            "read": unmess.capture(model.read),
        }
    )


def test_entry_points_share_state(runner):
    model = memory()
    run = unmess.load(captured(model), on=runner)
    assert list(run.signatures) == ["fill", "append", "read"]
    assert torch.equal(run.read(), torch.zeros(6, 4))
    x = torch.randn(3, 4)
    expected, result = model.fill(x), run.fill(x)
    assert list(result) == ["sum"]
    torch.testing.assert_close(result["sum"], expected["sum"])
    for _ in range(2):
        row = torch.randn(4)
        expected, result = model.append(row, scale=3), run["append"](row, scale=3)
        assert isinstance(result, tuple)
        torch.testing.assert_close(result, expected)
    torch.testing.assert_close(run.read(), model.read())
    assert int(run.state["count"]) == 5
    torch.testing.assert_close(run.state["rows"], model.rows)


def test_weights_are_shared_with_the_model(runner):
    model = memory()
    # The other presets of IREE rearrange weights at load.
    target = unmess.TargetOptions(preset="plain") if runner == "iree-cpu" else None
    run = unmess.load(captured(model), on=runner, target=target)
    assert {name: weight.data_ptr() for name, weight in run._weights.items()} == {
        name: weight.data_ptr() for name, weight in model.named_parameters()
    }
    x = torch.randn(3, 4)
    run.fill(x)
    with torch.no_grad():
        model.project.weight.mul_(-2)
    torch.testing.assert_close(run.fill(x)["sum"], model.fill(x)["sum"])


def test_check_compares_every_entry_point_on_the_state_before_it(runner):
    model = memory()
    report = unmess.check(captured(model), on=runner, calls=1)
    assert report.ok, report.error
    assert list(report.entries) == ["fill", "append", "read"]
    assert {difference.name for difference in report.differences} >= {
        "fill: result['sum']",
        "fill: state['rows']",
        "append: result[0]",
        "append: state['count']",
        "read: result",
    }
    assert not model.rows.any(), "a check must not advance the model"


def test_check_finds_the_entry_point_that_differs():
    model, other = memory(), memory()
    programs = captured(model)
    with torch.no_grad():
        other.project.weight.add_(1)
    # Correct on a fresh buffer, wrong on a filled one.
    programs["read"].eager.forward = lambda: other.project.weight.new_zeros(6, 4)
    report = unmess.check(programs, on="reference", calls=1)
    assert not report.ok
    assert report.error.startswith("read: result")
    assert report.entries["fill"].ok and report.entries["append"].ok


def test_modules_that_wrap_one_model_share_it(runner):
    """Their weight names differ, and one sees the tied weight only under its other name."""

    class Head(torch.nn.Module):
        def __init__(self, model):
            super().__init__()
            self.inner = model

        def forward(self, x):
            return self.inner[1](x)

    body = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 4))
    body[1].weight = body[0].weight
    x = torch.randn(2, 4)
    programs = unmess.combine(
        {"both": unmess.capture(body.eval(), (x,)), "head": unmess.capture(Head(body).eval(), (x,))}
    )
    assert len(programs.weights) == 3
    run = unmess.load(programs, on=runner)
    torch.testing.assert_close(run.both(x), body(x))
    torch.testing.assert_close(run.head(x), body[1](x))


def test_calls_without_or_with_an_unknown_entry_point():
    run = unmess.load(captured(memory()), on="reference")
    with pytest.raises(unmess.Error, match="several entry points: fill, append, read"):
        run(torch.randn(3, 4))
    with pytest.raises(unmess.Error, match="no entry point 'full'"):
        run["full"]
    with pytest.raises(AttributeError):
        _ = run.full
    with pytest.raises(unmess.Error, match="expected 3"):
        run.fill(torch.randn(2, 4))
