"""The search for slow operators: configurations, their order, ratios and counts."""

import pytest
import torch
from torch import nn

from benchmarks.cliffs.command import ordered, users_of
from benchmarks.cliffs.configurations import Configuration, configuration_of, family_of
from benchmarks.cliffs.report import print_report, result_of
from benchmarks.cliffs.store import Collected, Measurement
from unmess.row_log import appending, read_rows, write_row


def convolution(channels=8, size=9, stride=1, weight=3):
    def tensor(*shape, is_weight):
        return {"shape": list(shape), "dtype": "float32", "is_weight": is_weight}

    args = {
        "input": tensor(1, channels, size, size, is_weight=False),
        "weight": tensor(16, channels, weight, weight, is_weight=True),
        "stride": [stride, stride],
    }
    return Configuration("aten.conv2d.default", args)


def measurement(seconds, repeated=False, **options):
    call = {side: {"elapsed": 0.1, "cpu": 0.1} for side in ("eager", "iree-cpu")}
    call["iree-cpu"] = {"elapsed": 0.4, "cpu": 0.4}
    times = {
        "eager": {"elapsed": 1.0, "cpu": 1.0},
        "iree-cpu": {"elapsed": seconds, "cpu": seconds / 2},
    }
    return Measurement("key", ["iree-cpu"], call, repeated, times, **options)


def result(*measurements, models=("m",), threads=2):
    return result_of(convolution(), models, "iree-cpu", measurements, threads)


def test_a_configuration_has_shapes_and_options_of_a_call():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.randn(4, 2, 3, 3))

        def forward(self, x):
            return torch.conv2d(x, self.weight, stride=2) + 1

    graph = torch.export.export(Model(), (torch.randn(1, 2, 7, 7),)).graph
    weights = {node for node in graph.nodes if "weight" in node.name}
    (found,) = filter(None, (configuration_of(node, weights) for node in graph.nodes))
    assert found.operator == "aten.conv2d.default"
    assert found.args["input"] == {"shape": [1, 2, 7, 7], "dtype": "float32", "is_weight": False}
    assert found.args["weight"]["is_weight"]
    assert found.args["stride"] == [2, 2]


@pytest.mark.parametrize(
    ("operator", "family"),
    [
        ("aten.conv_transpose1d.default", "convolution"),
        ("aten.index.Tensor", "scatter"),
        ("quantized.Conv2d", "quantized"),
        ("aten.relu.default", None),
        ("prims.conv2d.default", None),
    ],
)
def test_family(operator, family):
    assert family_of(operator) == family


def test_a_kind_has_options_and_windows_but_no_sizes():
    one = convolution()
    assert one.kind == convolution(channels=32, size=40).kind
    assert one.key != convolution(channels=32, size=40).key
    assert one.kind != convolution(stride=2).kind
    assert one.kind != convolution(weight=5).kind


def test_a_configuration_of_two_recipes_is_timed_once():
    both, other = convolution(), convolution(stride=2)
    rows = [
        Collected("a", [(both.operator, both.args)]),
        Collected("b", [(other.operator, other.args), (both.operator, both.args)]),
        Collected("c", [], "failed"),
    ]
    assert users_of(rows) == {both: ["a", "b"], other: ["b"]}


def test_all_kinds_come_first():
    small, large, common = convolution(size=9), convolution(size=20), convolution(size=4)
    strided = convolution(stride=2)
    users = {small: ["a"], large: ["a"], strided: ["a"], common: ["a", "b"]}
    assert ordered(users) == [common, strided, large, small]


def test_a_ratio_leaves_out_what_any_call_takes():
    found = result(measurement(6.3))
    assert found.ratio == found.elapsed_ratio == pytest.approx(6.0)


def test_a_ratio_on_one_thread_is_of_cpu_time():
    found = result(measurement(6.3), threads=1)
    assert (found.ratio, found.elapsed_ratio) == (pytest.approx(2.85), pytest.approx(6.0))
    assert found.seconds == pytest.approx(3.15)


def test_the_lower_ratio_counts_until_it_is_timed_again():
    high, low, again = measurement(9.3), measurement(3.3, repeated=True), measurement(5.3)
    assert result(high, low).ratio == pytest.approx(3.0)
    assert result(measurement(2.3), measurement(4.3, repeated=True)).ratio == pytest.approx(2.0)
    assert result(high, low, again).ratio == pytest.approx(5.0)


def test_a_failure_has_a_cause_and_no_ratio():
    failed = measurement(1.3, failures={"iree-cpu": "no lowering"})
    assert (result(failed).ratio, result(failed).cause) == (None, "no lowering")
    assert result(measurement(1.3, skipped="died")).cause == "died"
    assert (
        result_of(convolution(), (), "reference", [measurement(1.3)], 1).cause == "no measurement"
    )


def test_report(capsys):
    slow = result(measurement(7.3), models=("a", "b"))
    failed = result(measurement(1.3, failures={"iree-cpu": "no lowering"}))
    print_report([result(measurement(1.0)), failed, slow], 1, 5)
    printed = capsys.readouterr().out
    assert "1 threads; 3 results, 1 above 2 times eager" in printed
    assert "| 7.0 | 7.0 | iree-cpu | 1000.000 ms | 7300.000 ms | conv2d(" in printed
    assert "| a and 1 more |" in printed
    assert ": no lowering" in printed
    assert "| iree-cpu | convolution | 1 | 0 | 0 | 1 | 1 |" in printed


def test_rows_are_stored(tmp_path):
    rows = [measurement(1.0), measurement(2.0, repeated=True, skipped="died")]
    with appending(tmp_path / "times") as log:
        for row in rows:
            write_row(log, row)
    assert list(read_rows(tmp_path / "times", Measurement)) == rows
