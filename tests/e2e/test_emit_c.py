"""Tests the example backend that prints C: results, memory plan, checks, and what it refuses."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import nn

import unmess
from unmess.conformance.operators import CASES as CASES_OF_OPERATORS
from unmess.conformance.operators.outcomes import outcomes

FILE = Path(__file__).parents[2] / "examples/backends/emit_c.py"
ON = f"{FILE}:EmitC"
INTEGERS = (torch.int8, torch.int16, torch.int32, torch.int64)


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.project, self.out = nn.LayerNorm(8), nn.Linear(8, 24), nn.Linear(8, 8)

    def forward(self, x):
        query, key, value = self.project(self.norm(x)).chunk(3, -1)
        return x + self.out(nn.functional.scaled_dot_product_attention(query, key, value))


class Words(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(10, 4)

    def forward(self, words):
        return self.table(words).sum(1).argmax(-1)


class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.zeros(3))

    def forward(self, x):
        self.total.add_(x)
        return self.total * x


def double(x, count):
    """Doubles x until the counter is 3: a loop that carries tensors."""
    return torch._higher_order_ops.while_loop(
        lambda i, x: i < 3, lambda i, x: (i + 1, x * 2), (count, x)
    )


def many_integers(*values):
    return [
        (x + y, x * y, x // y, x % y, x.bitwise_xor(y), x > y, x.float(), x.argmax(), x.sum())
        for x, y in zip(values[::2], values[1::2], strict=True)
    ]


def edges(dtype):
    low, high = torch.iinfo(dtype).min, torch.iinfo(dtype).max
    # The lowest number divided by -1 is not here: eager crashes for some dtypes.
    return torch.tensor([low, high, -7, 7], dtype=dtype), torch.tensor(
        [3, high, 3, -3], dtype=dtype
    )


def special(x, y):
    """Elements that are NaN, infinite, zeros of both signs; booleans; an empty tensor."""
    smaller = (x < y) | x.isnan()
    return (
        *(torch.maximum(x, y), torch.fmin(x, y), x.clamp(-1, 1), x.softmax(0), x.sort().values),
        *(
            smaller,
            smaller,
            smaller.any(),
            ~smaller & (y > 0),
            x[:0] + 1,
            x.double().expm1(),
            x.argmin(),
        ),
    )


def module_cases():
    torch.manual_seed(0)
    convolution = nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2)
    x = torch.tensor([torch.nan, torch.inf, -torch.inf, 0.0, -0.0, 1e-40, 2.5])
    yield "mlp", nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 4)), torch.randn(2, 8)
    yield (
        "cnn",
        nn.Sequential(*convolution, nn.Flatten(), nn.Linear(64, 5)),
        torch.randn(2, 3, 8, 8),
    )
    yield "attention", Attention(), torch.randn(2, 5, 8).transpose(0, 1)
    yield "words", Words(), torch.tensor([[0, 9, 3]])
    yield "state", Counter(), torch.randn(3)
    yield "large weights", nn.Linear(300, 300), torch.randn(1, 300)
    yield "while", double, torch.ones(2), torch.tensor(0)
    yield "integers", many_integers, *(each for dtype in INTEGERS for each in edges(dtype))
    yield "unsigned", many_integers, *torch.tensor([[255, 3, 0], [2, 3, 255]], dtype=torch.uint8)
    yield "special", special, x, x.flip(0)
    yield (
        "single",
        lambda x: (x.log1p(), x.var(correction=0), x.cumsum(0)),
        torch.rand(1, dtype=torch.float64),
    )


CASES = {name: (model, args) for name, model, *args in module_cases()}


@pytest.mark.parametrize("name", CASES)
def test_programs(name):
    model, args = CASES[name]
    if isinstance(model, nn.Module):
        model.eval()
    report = unmess.check(unmess.capture(model, tuple(args)), on=ON, calls=1)
    assert report.ok, report.error


def printer(name):
    """Returns a file of the package of the example, as a module."""
    if "c_printer" not in sys.modules:
        spec = importlib.util.spec_from_file_location("emit_c", FILE)
        spec.loader.exec_module(importlib.util.module_from_spec(spec))
    return sys.modules[f"c_printer.{name}"]


def sources_of(name):
    """Returns the C sources of a case."""
    model, args = CASES[name]
    program = unmess.capture(model.eval(), tuple(args))
    return printer("sources").print_c(unmess.lower(program, "linalg", upstream_only=True))


MAIN = """
#include <stdio.h>
#include "{name}.h"
int main(void) {{
  static float x[2 * 3 * 8 * 8], y[2 * 5];
  for (int i = 0; i < 2 * 3 * 8 * 8; ++i) x[i] = i % 7;
  int status = {name}_run(x, y);
  for (int i = 0; i < 2 * 5; ++i) printf("%.9g ", y[i]);
  return status;
}}
"""


def test_a_program_in_c_links_the_source_and_calls_it(tmp_path):
    """The compiler reports no warnings. There is no heap, and buffers share memory."""
    printed = sources_of("cnn")
    assert 0 < printed.arena_bytes < printed.buffer_bytes
    assert "alloc" not in printed.source and not printed.weights
    printed.write(tmp_path)
    (tmp_path / "main.c").write_text(MAIN.format(name=printed.name))
    strict = "-std=c11", "-O1", "-Wall", "-Wextra", "-pedantic", "-Werror"
    files = "main.c", f"{printed.name}.c", "-lm", "-o", "main"
    subprocess.run(["cc", *strict, *files], cwd=tmp_path, check=True)
    done = subprocess.run([tmp_path / "main"], capture_output=True, text=True, check=True)
    x = torch.arange(2 * 3 * 8 * 8).remainder(7).float().reshape(2, 3, 8, 8)
    result = torch.tensor([float(each) for each in done.stdout.split()]).reshape(2, 5)
    torch.testing.assert_close(result, CASES["cnn"][0].eval()(x))


def test_large_weights_are_in_a_file(tmp_path):
    printed = sources_of("large weights")
    assert len(printed.weights) == 300 * 300 * 4 and len(printed.source) < 20_000
    printed.write(tmp_path)
    assert (tmp_path / f"{printed.name}.bin").read_bytes() == printed.weights


def test_buffers_that_live_at_the_same_time_do_not_overlap():
    printed = sources_of("attention")
    plan = printer("arena")
    lives = [plan._Life(number, *life) for number, life in enumerate([(0, 4, 100), (1, 2, 60)])]
    lives += [plan._Life(number, *life) for number, life in [(2, (3, 5, 60)), (3, (5, 6, 100))]]
    placed = plan._place(lives)
    for one in lives:
        for other in lives:
            if one.buffer < other.buffer and one.first <= other.last and other.first <= one.last:
                a, b = placed.ranges[one.buffer], placed.ranges[other.buffer]
                assert a.offset + a.size <= b.offset or b.offset + b.size <= a.offset
    assert placed.ranges[1].offset == placed.ranges[2].offset, "they live one after the other"
    assert printed.arena_bytes < printed.buffer_bytes / 2


@pytest.mark.parametrize(
    ("model", "good", "bad", "cause"),
    [
        (Words(), torch.tensor([[1, 2]]), torch.tensor([[1, 10]]), "index"),
        (Words(), torch.tensor([[1, 2]]), torch.tensor([[1, -1]]), "index"),
        (lambda x: x.take(x), torch.tensor([0, 1]), torch.tensor([0, 2**40]), "index"),
        (lambda x: 7 // x, torch.tensor([1, 2]), torch.tensor([1, 0]), "division by zero"),
    ],
)
def test_a_failed_check_ends_the_call(model, good, bad, cause):
    run = unmess.load(unmess.capture(model, (good,)), on=ON)
    with pytest.raises(unmess.Error, match=rf"{cause}.* at test_emit_c.py:\d+") as caught:
        run(bad)
    assert caught.value.stage == "run"
    assert torch.equal(run(good), model(good))
    assert not any(note.kind == "unchecked" for note in run.notes)


def test_unchecked_code_returns_no_status():
    program = unmess.capture(lambda x, y: x // y, (torch.tensor([7]), torch.tensor([2])))
    module = unmess.lower(program, "linalg", upstream_only=True)
    assert "return 1;" not in printer("sources").print_c(module, unchecked=True).source


@pytest.mark.parametrize(
    ("model", "x", "dynamic", "cause"),
    [
        (torch.relu, torch.ones(3), {"x": {0: torch.export.Dim("n")}}, r"size of tensor<\?xf32>"),
        (torch.nonzero, torch.ones(3), None, "memory plan is static"),
        (torch.relu, torch.ones(3).half(), None, "no type for f16, which the signature has"),
        (torch.fft.fft, torch.ones(3), None, "no type for complex<f32>"),
    ],
)
def test_refusals(model, x, dynamic, cause):
    program = unmess.capture(lambda x: model(x), (x,), dynamic_shapes=dynamic)
    with pytest.raises(unmess.Error, match=cause) as caught:
        unmess.load(program, on=ON)
    assert (caught.value.stage, caught.value.cause.count("\n")) == ("compile", 0)


SAMPLE = (
    *("torch.gather(", "torch.searchsorted("),
    *("torch.pow(f32[13] special, 0.5", "torch.index_put("),
)


def test_a_sample_of_conformance():
    cases = [
        case
        for case in CASES_OF_OPERATORS
        if str(case).startswith(SAMPLE)
        and not any(spec.dynamic or "f16" in spec.text for spec in case.specs)
    ]
    assert len(cases) >= 7
    found = outcomes(cases, [ON])
    failures = {str(case): each[ON] for case, each in zip(cases, found, strict=True)}
    assert not {name: each for name, each in failures.items() if each}
