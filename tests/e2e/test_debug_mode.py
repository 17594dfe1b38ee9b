"""Debug mode gives the results of release mode, and shows every step."""

import pytest
import torch

import unmess
from unmess.__main__ import main


def integers(x, index):
    table = (x * 3 - x.flip(0)) // 4
    return table[index].cumsum(0), (table @ x.t()).clamp(-50, 50).to(torch.int8), table.sort()[0]


def floats(x, index):
    y = torch.softmax(x @ x.t(), -1)
    return torch.nn.functional.layer_norm(y[index], (8,)), x.exp().sum(0)


def both_modes(function, x):
    index = torch.tensor([3, 0, 7])
    module = unmess.lower(unmess.capture(function, (x, index)))
    release = unmess.load(module)(x, index)
    with unmess.debugging():
        debug = unmess.load(module)(x, index)
    return release, debug, function(x, index)


def test_integers_are_the_same_to_the_bit():
    release, debug, eager = both_modes(integers, torch.randint(-90, 90, (8, 8)))
    for a, b, truth in zip(release, debug, eager, strict=True):
        assert torch.equal(a, b)
        assert torch.equal(a, truth)


def test_floats_are_the_same():
    release, debug, eager = both_modes(floats, torch.randn(8, 8))
    for a, b, truth in zip(release, debug, eager, strict=True):
        torch.testing.assert_close(a, b)
        torch.testing.assert_close(a, truth)


def test_every_lowering_step_is_shown(tmp_path, monkeypatch):
    """The steps are also shown for a program in the cache."""
    monkeypatch.setenv("UNMESS_CACHE", str(tmp_path))
    x = torch.randn(256, 128)
    unmess.load(unmess.capture(torch.nn.Linear(128, 128), (x,)))
    shown = []
    with unmess.debugging(["all"], shown.append):
        unmess.load(unmess.capture(torch.nn.Linear(128, 128), (x,)))
    steps = [text.splitlines()[0].removeprefix("// After ") for text in shown]
    wanted = [
        "canonicalize, torch",
        "linalg-nan-order, linalg",
        "reference-set-apart",
        "cse, reference-fuse",
        "one-shot-bufferize",
        "reference-outline",
        "reference-vectorize",
        "reference-entries",
        "reconcile-unrealized-casts, reference-llvm",
        "reference-annotate",
    ]
    assert [step for step in steps if step in wanted] == wanted
    texts = dict(zip(steps, shown, strict=True))
    assert "linalg.generic" in texts["one-shot-bufferize"]
    assert "vector.load" in texts["reference-vectorize"]
    assert "llvm.func @main" in shown[-1]


@pytest.mark.parametrize("verb", ["run", "import"])
def test_the_command_shows_steps_on_stderr(tmp_path, capfd, verb):
    file = tmp_path / "m.py"
    file.write_text("import torch\ndef model():\n    return torch.nn.ReLU(), (torch.ones(2),)\n")
    assert main([verb, str(file), "--json", "--print-after", "linalg"]) == 0
    out, err = capfd.readouterr()
    assert "// After" not in out
    assert err.count("// After") == 1 and "linalg.generic" in err
    assert main([verb, str(file), "--print-after", "nonsense"]) == 2
    assert "no step 'nonsense' has run" in capfd.readouterr().err
