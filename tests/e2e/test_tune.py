"""Tests of the presets of IREE's compiler: the default one, and `unmess tune`."""

import json

import pytest
import torch

import unmess
from pipelines.iree import vm_module
from pipelines.iree.presets import PRESETS
from unmess import tuning
from unmess.__main__ import main

MODEL = """
import torch


def model():
    torch.manual_seed(0)
    layers = torch.nn.Conv2d(3, 8, 3), torch.nn.Flatten(), torch.nn.Linear(8 * 6 * 6, 5)
    return torch.nn.Sequential(*layers).eval(), (torch.randn(2, 3, 8, 8),)
"""

# A model that each preset compiles in less time.
LINEAR = """
import torch


def model():
    return torch.nn.Linear(8, 4), (torch.randn(2, 8),)
"""


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("UNMESS_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("UNMESS_CACHE_MB", raising=False)


def preset(run):
    (note,) = [note.text for note in run.notes if note.kind == "preset"]
    return note.partition(":")[0]


@pytest.mark.parametrize(
    "model, args, expected, why",
    [
        (
            torch.nn.Conv2d(3, 8, 3),
            (torch.randn(1, 3, 8, 8),),
            "channels-last-data-tiling",
            "convolutions",
        ),
        (torch.nn.Linear(8, 4), (torch.randn(2, 8),), "data-tiling", "multiplications"),
        (torch.nn.GELU(), (torch.randn(2, 8),), "plain", "no operation that another preset"),
    ],
)
def test_the_default_preset_depends_on_the_operations(model, args, expected, why):
    program = unmess.capture(model, args)
    # The second load uses the cache.
    for _ in range(2):
        run = unmess.load(program, on="iree-cpu")
        assert preset(run) == expected
        assert any(why in note.text for note in run.notes)
        torch.testing.assert_close(run(*args), model(*args), rtol=1e-5, atol=1e-5)


def test_a_preset_that_is_asked_for(monkeypatch):
    taken = []
    compile_for = vm_module.compile_for
    monkeypatch.setattr(
        vm_module,
        "compile_for",
        lambda module, target, preset: taken.append(preset) or compile_for(module, target, preset),
    )
    program = unmess.capture(torch.nn.Linear(8, 4), (torch.randn(2, 8),))
    run = unmess.load(program, on="iree-cpu", target=unmess.TargetOptions(preset="plain"))
    assert not [note for note in run.notes if note.kind == "preset"]
    unmess.load(program, on="iree-cpu", target=unmess.TargetOptions(preset="channels-last"))
    assert taken == [PRESETS["plain"], PRESETS["channels-last"]]


def test_an_unknown_preset():
    program = unmess.capture(torch.nn.Linear(8, 4), (torch.randn(2, 8),))
    with pytest.raises(unmess.Error, match="unknown preset 'fast'") as caught:
        unmess.load(program, on="iree-cpu", target=unmess.TargetOptions(preset="fast"))
    assert caught.value.stage == "usage"


def test_later_loads_use_the_best_preset(tmp_path, capfd, monkeypatch):
    path = tmp_path / "model.py"
    path.write_text(MODEL)
    # Seconds per call, used instead of measured ones.
    calls = {"plain": 3.0, "channels-last": 2.0, "data-tiling": 1.0}

    def call(program, executable):
        return calls.get(names[id(executable)], 9.0)

    names = {}
    load = tuning.load

    def remembered(module, on, target):
        executable = load(module, on, target)
        names[id(executable)] = target.preset
        return executable

    monkeypatch.setattr(tuning, "load", remembered)
    monkeypatch.setattr(tuning, "_call", call)
    assert main(["tune", str(path), "--json", "-q"]) == 0
    found = json.loads(capfd.readouterr().out)
    assert found["preset"] == "data-tiling"
    assert [each["preset"] for each in found["candidates"]][:3] == [
        "data-tiling",
        "channels-last",
        "plain",
    ]
    assert all(each["ok"] and each["calls"] for each in found["candidates"])
    assert found["kept"]
    program = unmess.capture(str(path))
    run = unmess.load(program, on="iree-cpu")
    assert preset(run) == "data-tiling"
    assert any("chosen by `unmess tune`" in note.text for note in run.notes)
    # The stored preset applies only to the same target CPU.
    generic = unmess.TargetOptions(cpu="generic")
    assert (
        preset(unmess.load(program, on="iree-cpu", target=generic)) == "channels-last-data-tiling"
    )


@pytest.mark.parametrize("fastest", ["reference", "data-tiling"])
def test_the_fastest_runner(tmp_path, capfd, monkeypatch, fastest):
    path = tmp_path / "model.py"
    path.write_text(LINEAR)
    names = {}
    load = tuning.load

    def remembered(module, on, target):
        executable = load(module, on, target)
        names[id(executable)] = target.preset or on
        return executable

    monkeypatch.setattr(tuning, "load", remembered)
    monkeypatch.setattr(
        tuning, "_call", lambda _program, run: 1.0 if names[id(run)] == fastest else 9.0
    )
    # Without a choice, it is the reference runner.
    assert main(["run", str(path), "--on", "auto", "-v"]) == 0
    assert "note: runner: reference: no choice is stored" in capfd.readouterr().err
    assert main(["tune", str(path), "--on", "auto", "-q"]) == 0
    runner = "reference" if fastest == "reference" else "iree-cpu"
    assert f"on auto uses {runner}" in capfd.readouterr().out
    assert main(["run", str(path), "--on", "auto", "-v"]) == 0
    assert f"note: runner: {runner}: the fastest one" in capfd.readouterr().err
    program = unmess.capture(str(path))
    run = unmess.load(program, on="auto")
    assert run.runner == runner
    # The best preset of iree-cpu is stored, too.
    assert preset(unmess.load(program, on="iree-cpu")) == (
        "data-tiling" if runner == "iree-cpu" else "plain"
    )
    torch.testing.assert_close(run(*program.args), program.eager(*program.args))
    # Another number of threads may have another fastest runner.
    threads = torch.get_num_threads()
    torch.set_num_threads(threads + 1)
    try:
        assert unmess.load(program, on="auto").runner == "reference"
    finally:
        torch.set_num_threads(threads)


def test_other_runners_are_not_tuned():
    program = unmess.capture(torch.nn.Linear(8, 4), (torch.randn(2, 8),))
    with pytest.raises(unmess.Error, match="nothing to tune on reference") as caught:
        unmess.tune(program, on="reference")
    assert caught.value.stage == "usage"


def test_a_preset_that_gives_another_result_is_not_taken(monkeypatch):
    program = unmess.capture(torch.nn.Linear(8, 4), (torch.randn(2, 8),))
    load = tuning.load

    def wrong(module, on, target):
        executable = load(module, on, target)
        if target.preset != "channels-last":
            invoke = executable._invoke
            executable._invoke = lambda *call: [result + 1 for result in invoke(*call)]
        return executable

    monkeypatch.setattr(tuning, "load", wrong)
    monkeypatch.setattr(tuning, "_call", lambda program, executable: 1e-5)
    candidates = unmess.tune(program)
    assert (candidates[0].preset, candidates[0].ok) == ("channels-last", True)
    # Calls are repeated until they have taken a second, but at most 500 times.
    assert len(candidates[0].times) == 500
    assert not any(each.ok for each in candidates[1:])
    assert all("eager" in each.problem for each in candidates[1:])
    with pytest.raises(unmess.Error, match="no preset gives the same result as eager"):
        unmess.tune(program, presets=["plain", "data-tiling"])


@pytest.mark.parametrize(
    ("presets", "cause"),
    [((), "no preset to try"), (("plain", "fast"), "unknown preset 'fast'")],
)
def test_presets_to_try_are_validated_first(monkeypatch, presets, cause):
    program = unmess.capture(torch.nn.Linear(8, 4), (torch.randn(2, 8),))
    monkeypatch.setattr(type(program), "to_module", None)
    with pytest.raises(unmess.Error, match=cause) as caught:
        unmess.tune(program, presets=presets)
    assert caught.value.stage == "usage" and "channels-last" in caught.value.hint


def test_plain_replaces_a_default_preset_that_fails(monkeypatch):
    compile_for = vm_module.compile_for

    def failing(module, target, preset):
        if preset.options:
            raise unmess.Error("compile", "no tiles today")
        return compile_for(module, target, preset)

    monkeypatch.setattr(vm_module, "compile_for", failing)
    model, x = torch.nn.Linear(8, 4), torch.randn(2, 8)
    program = unmess.capture(model, (x,))
    run = unmess.load(program, on="iree-cpu")
    assert [str(note) for note in run.notes] == [
        "preset: the preset data-tiling does not work for this program: no tiles today",
        "preset: plain: IREE's default options; used instead",
    ]
    torch.testing.assert_close(run(x), model(x))
    with pytest.raises(unmess.Error, match="no tiles today"):
        unmess.load(program, on="iree-cpu", target=unmess.TargetOptions(preset="data-tiling"))


def test_dynamic_sizes_get_tiles(dynamic_program):
    assert preset(unmess.load(dynamic_program, on="iree-cpu")) == "dynamic-tiles"


def test_dynamic_sizes_without_products_get_the_plain_preset():
    dynamic = ({0: torch.export.Dim("n")},)
    program = unmess.capture(torch.nn.GELU(), (torch.randn(2, 8),), dynamic_shapes=dynamic)
    assert preset(unmess.load(program, on="iree-cpu")) == "plain"


@pytest.fixture
def dynamic_program():
    dynamic = ({0: torch.export.Dim("n")},)
    return unmess.capture(torch.nn.Linear(8, 4), (torch.randn(2, 8),), dynamic_shapes=dynamic)


def test_tiles_of_dynamic_sizes_are_refused(dynamic_program):
    options = unmess.TargetOptions(preset="data-tiling")
    with pytest.raises(unmess.Error, match="requires static sizes") as caught:
        unmess.load(dynamic_program, on="iree-cpu", target=options)
    assert caught.value.stage == "usage"


def test_tiles_of_dynamic_sizes_are_no_candidates(dynamic_program):
    right = {each.preset: each.ok for each in unmess.tune(dynamic_program)}
    assert right == {
        "plain": True,
        "channels-last": True,
        "dynamic-tiles": True,
        "data-tiling": False,
        "channels-last-data-tiling": False,
    }


def test_a_result_that_cannot_be_kept_is_reported(tmp_path, capfd, monkeypatch):
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("UNMESS_CACHE", str(tmp_path / "file"))
    path = tmp_path / "model.py"
    path.write_text(LINEAR)
    assert main(["tune", str(path), "-q"]) == 0
    assert (
        "is the fastest preset, but is not stored: the cache cannot be written"
        in capfd.readouterr().out
    )
