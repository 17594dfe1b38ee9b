"""Products with IREE's data tiling, and how `check` finds a faulty preset."""

import functools
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch

import unmess
from pipelines.iree import presets, vm_module
from pipelines.iree.dispatches import wrong_dispatch
from unmess.core.options.target_options import TargetOptions

# Matrices, rows, columns and reduced elements. In each entry, the padding of all matrices together
# is less than one tile of 8 or 16 rows or columns. The size of the tile depends on the CPU.
SIZES = [(2, 13, 7, 5), (3, 15, 31, 4), (4, 7, 47, 6), (2, 393, 24, 8), (6, 31, 15, 3)]


class Products(torch.nn.Module):
    """Products of operands that are computed elementwise."""

    def forward(self, *tensors):
        results = []
        for left, right, scale in zip(tensors[::3], tensors[1::3], tensors[2::3], strict=True):
            results.append((left * scale) @ (right * scale).transpose(1, 2))
        # The transposition keeps the order of matrices and rows.
        left, right = tensors[0].permute(2, 0, 1).contiguous(), tensors[1]
        return *results, left.permute(1, 2, 0) @ (right * tensors[2]).transpose(1, 2)


def arguments(dtype):
    # Products of small integers are exact in every dtype.
    torch.manual_seed(0)
    return tuple(
        torch.randint(-2, 3, shape).to(dtype)
        for matrices, rows, columns, reduced in SIZES
        for shape in ((matrices, rows, reduced), (matrices, columns, reduced), (reduced,))
    )


@functools.cache
def captured(dtype):
    return unmess.capture(Products(), arguments(dtype))


def noisy(x):
    return x @ x + torch.rand(4, 4)


@pytest.fixture
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("UNMESS_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def unguarded(monkeypatch, own_cache):
    """Removes the steps from the preset data-tiling, which leaves IREE's own data tiling."""
    preset = replace(presets.PRESETS["data-tiling"], steps=())
    monkeypatch.setitem(presets.PRESETS, "data-tiling", preset)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16, torch.int32])
def test_padded_products(dtype):
    model, args = Products(), arguments(dtype)
    run = unmess.load(captured(dtype), on="iree-cpu")
    assert run.preset == "data-tiling"
    for actual, expected in zip(run(*args), model(*args), strict=True):
        assert torch.equal(actual, expected)


class Slices(torch.nn.Module):
    """Products of slices that are not contiguous."""

    def forward(self, x, y, w):
        return x[:, ::2] @ w[..., 1], y[:, 0] @ w[:, :, 0], y[::2, 1] @ w[:, :, 0].split(64, 1)[1]


class Momentum(torch.nn.Module):
    """The update of a weight, whose gradient is a product of small depth."""

    def forward(self, gradient, x, weight, mean):
        mean = 0.9 * mean + gradient.t() @ x
        return mean, weight - 0.01 * mean


UNTILED = pytest.mark.parametrize(
    ("model", "shapes"),
    [
        (Slices(), [(64, 1024), (64, 2, 512), (512, 256, 2)]),
        (Momentum(), [(8, 512), (8, 512), (512, 512), (512, 512)]),
    ],
    ids=["slices", "momentum"],
)


@UNTILED
def test_products_compile_with_data_tiling(model, shapes):
    args = tuple(map(torch.randn, shapes))
    run = unmess.load(unmess.capture(model, args), on="iree-cpu")
    # If IREE does not compile a program with data tiling, the whole program becomes slow.
    assert run.preset == "data-tiling"
    for actual, expected in zip(run(*args), model(*args), strict=True):
        torch.testing.assert_close(actual, expected, rtol=1e-5, atol=1e-4)


@UNTILED
def test_iree_still_does_not_tile_some_packing(model, shapes, unguarded):
    run = unmess.load(unmess.capture(model, tuple(map(torch.randn, shapes))), on="iree-cpu")
    assert run.preset == "plain"


def test_iree_still_computes_padded_products_wrongly(unguarded):
    """If this fails, IREE is fixed: remove `separate_packing`, and the limit from docs/iree.md."""
    report = unmess.check(captured(torch.float32), calls=0)
    assert not report.ok
    assert report.with_plain.preset == "data-tiling"
    assert report.with_plain.ok
    assert str(report.with_plain) == (
        "the preset data-tiling causes the difference: with plain, the result matches eager"
    )


def test_the_first_dispatch_that_is_compiled_wrong(unguarded, tmp_path):
    found = dispatch_of_products()
    # It scales two matrices of 13 rows, and pads them as one of 26.
    assert found.name == "main_dispatch_0_elementwise_26x5_f32"
    assert (found.before, found.difference > 0.1) == (0, True)
    file = tmp_path / "dispatch.mlir"
    file.write_text(found.ir)
    tool = Path(sys.executable).with_name("iree-compile")
    options = ("--compile-mode=hal-executable", "-o", "/dev/null")
    subprocess.run([tool, file, *options], check=True, capture_output=True)


def test_no_dispatch_of_a_right_program_differs(own_cache):
    assert dispatch_of_products() is None


def dispatch_of_products():
    args = arguments(torch.float32)
    module = unmess.capture(Products(), args).to_module()
    return wrong_dispatch(module, "iree-cpu", TargetOptions(), lambda run: run(*args), least=1e-3)


def test_a_result_that_is_wrong_with_plain_too():
    report = unmess.check(unmess.capture(noisy, (torch.ones(4, 4),)), calls=0)
    assert not report.ok
    assert not report.with_plain.ok
    assert str(report.with_plain).startswith(
        "the preset data-tiling does not cause the difference: with plain, result: differs by"
    )


def test_an_error_with_plain_is_reported(own_cache, monkeypatch):
    compile_for = vm_module.compile_for

    def failing(module, target, preset):
        if preset is presets.PRESETS["plain"]:
            raise unmess.Error("compile", "no vectors today")
        return compile_for(module, target, preset)

    monkeypatch.setattr(vm_module, "compile_for", failing)
    report = unmess.check(unmess.capture(noisy, (torch.ones(4, 4),)), calls=0)
    assert not report.ok
    assert report.with_plain.ok is None
    assert str(report.with_plain).endswith("compile: no vectors today")


def test_plain_is_tried_only_for_wrong_results_of_presets():
    program = unmess.capture(torch.nn.Linear(4, 2), (torch.ones(3, 4),))
    assert unmess.check(program, calls=0).with_plain is None
    program = unmess.capture(noisy, (torch.ones(4, 4),))
    assert unmess.check(program, on="reference", calls=0).with_plain is None
    plain = unmess.TargetOptions(preset="plain")
    assert unmess.check(program, target=plain, calls=0).with_plain is None


def test_the_command_prints_the_result_with_plain(tmp_path, unmess_command):
    file = tmp_path / "noisy.py"
    file.write_text(
        "import torch\n"
        "def noisy(x):\n    return x @ x + torch.rand(4, 4)\n"
        "noisy.example_args = (torch.ones(4, 4),)\n"
    )
    done = unmess_command("check", f"{file}:noisy", "--json")
    assert done.returncode == 1, done.stderr
    rows = {row["runner"]: row for row in json.loads(done.stdout)}
    assert rows["reference"]["with_plain"] is None
    found = rows["iree-cpu"]["with_plain"]
    assert (found["preset"], found["ok"]) == ("data-tiling", False)
    done = unmess_command("check", f"{file}:noisy", "--on", "iree-cpu")
    assert done.returncode == 1, done.stderr
    assert f"  preset: {found['text'].partition(':')[0]}" in done.stdout


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=["f32", "bf16"])
def test_products_on_a_cpu_without_kernels(dtype):
    target, tensors, model = TargetOptions(cpu="generic"), arguments(dtype), Products()
    run = unmess.load(unmess.capture(model, tensors), on="iree-cpu", target=target)
    for result, expected in zip(run(*tensors), model(*tensors), strict=True):
        torch.testing.assert_close(result, expected, rtol=0, atol=0)
