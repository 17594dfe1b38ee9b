"""Tests that a second command takes a model's program from the cache, and never a stale one."""

import json
import os
import subprocess
import sys
import textwrap

import command_line
import pytest
import torch
import transformers

import unmess.bundle
from unmess.__main__ import main
from unmess.program_cache.capturing import Need, look_up
from unmess.program_cache.entry import WEIGHTS, Entry, programs_folder
from unmess.program_cache.request import Request

MODEL = """
import torch
from layers import scale

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.head = torch.nn.Linear(4, 3)

    def forward(self, x):
        return {"scaled": self.head(x) * scale, "pair": [x.sum(), x]}

def model():
    torch.manual_seed(0)
    return Net().eval(), (torch.arange(8.0).reshape(2, 4),)
"""
SLOW = ("torch", "torch.export._trace", "torchvision", "transformers", "torch_mlir")
# Runs commands in one process. Prints the output of each and the modules that are imported by then.
SEVERAL = """
import contextlib, io, json, sys
from unmess.__main__ import main
done = []
for arguments in json.loads(sys.argv[1]):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        status = main([*arguments, "--json", "-q"])
    assert status == 0, arguments
    imported = [name for name in json.loads(sys.argv[2]) if name in sys.modules]
    done.append((json.loads(out.getvalue()), imported))
json.dump(done, sys.stdout)
"""


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("UNMESS_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("UNMESS_PROGRAMS_MB", raising=False)


@pytest.fixture
def model(tmp_path):
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "layers.py").write_text("scale = 2.0\n")
    (folder / "net.py").write_text(MODEL)
    return folder / "net.py"


def command(capfd, *arguments):
    """Runs a command in this process. Returns its JSON document and stderr."""
    status = main([*map(str, arguments), "--json"])
    captured = capfd.readouterr()
    assert status == 0, captured.err
    return json.loads(captured.out), captured.err


@pytest.fixture
def in_fork(tmp_path, python_command):
    """Like `in_new_process`, but in a process that has imported the slow modules."""
    script = tmp_path / "several.py"
    script.write_text(SEVERAL)
    return lambda *commands: _outcomes(python_command(script, json.dumps(commands), "[]"))


def in_new_process(*commands):
    """Returns the JSON document of each command, and which slow modules are imported after it."""
    arguments = [sys.executable, "-c", SEVERAL, json.dumps(commands), json.dumps(SLOW)]
    # `in_fork` imports this module, and a cache entry depends on where modules are found.
    environment = {**os.environ, "PYTHONPATH": os.path.dirname(command_line.__file__)}
    return _outcomes(subprocess.run(arguments, capture_output=True, text=True, env=environment))


def _outcomes(done):
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def entry(model, **options):
    found = look_up(Request(str(model), **options), Need())
    if isinstance(found, Entry):
        return found
    # pytest shows it if the test fails.
    print(f"no entry: {found.reason}", file=sys.stderr)
    return None


def without_times(document):
    return {key: value for key, value in document.items() if key not in ("seconds", "versions")}


def test_a_second_command_needs_no_export(model, tmp_path, in_fork):
    run = ["run", str(model), "--on", "iree-cpu"]
    others = [
        ["run", str(model)],
        ["import", str(model), "--to", "linalg"],
        ["import", str(model), "--to", "tosa", "-o", str(tmp_path / "out.mlir")],
        ["analyze", str(model)],
    ]
    package = ["package", str(model), "-o"]
    one, two = str(tmp_path / "one"), str(tmp_path / "two")
    first = in_fork(run, *others, [*package, one])
    (again, imported), *second = in_new_process(run, *others, [*package, two])
    assert without_times(again) == without_times(first[0][0])
    assert again["seconds"].keys() == first[0][0]["seconds"].keys()
    assert imported == []
    paths = [leaf["path"] for leaf in again["results"]]
    assert paths == ["result['scaled']", "result['pair'][0]", "result['pair'][1]"]
    for (before, _), (after, modules) in zip(first[1:-1], second[:-1], strict=True):
        assert without_times(after) == without_times(before)
        assert not {"torch.export._trace", "torchvision", "transformers"}.intersection(modules)
    assert "torch.export._trace" not in second[-1][1]
    x = torch.arange(8.0).reshape(2, 4).numpy()
    results = [unmess.bundle.load(folder)(x)["scaled"] for folder in (one, two)]
    assert (results[0] == results[1]).all()


def test_results_are_those_of_the_model(capfd, model):
    command(capfd, "run", model)
    again, _ = command(capfd, "run", model)
    torch.manual_seed(0)
    expected = torch.nn.Linear(4, 3)(torch.arange(8.0).reshape(2, 4)) * 2
    values = torch.tensor(again["results"][0]["values"])
    torch.testing.assert_close(values, expected.flatten()[:5])


@pytest.mark.parametrize("name", ["net.py", "layers.py"])
def test_a_changed_source_is_seen(capfd, model, name):
    before, _ = command(capfd, "run", model)
    file = model.with_name(name)
    # Change the size, too: Python's bytecode files do not distinguish two versions of equal size
    # that were written within one second.
    file.write_text(file.read_text().replace("2.0", "3.00"))
    if name == "net.py":
        file.write_text(file.read_text().replace("* scale", "* (scale + 1)"))
    assert entry(model) is None
    after, _ = command(capfd, "run", model)
    old, new = (torch.tensor(each["results"][0]["values"]) for each in (before, after))
    torch.testing.assert_close(new, old * 1.5)
    assert entry(model) is not None


def test_a_new_module_beside_the_file_is_seen(capfd, model):
    command(capfd, "run", model)
    (model.parent / "unrelated.py").write_text("")
    assert entry(model) is not None
    # The package hides the module layers.py, which was imported.
    (model.parent / "layers").mkdir()
    (model.parent / "layers" / "__init__.py").write_text("scale = 20.0\n")
    assert entry(model) is None


def test_options_are_seen(capfd, model):
    one, _ = command(capfd, "run", model, "--input", "3x4xf32")
    two, _ = command(capfd, "run", model, "--input", "5x4xf32")
    three, _ = command(capfd, "run", model, "--dynamic", "x.0=n")
    assert [each["results"][0]["shape"] for each in (one, two, three)] == [[3, 3], [5, 3], [2, 3]]
    text, _ = command(capfd, "import", model, "--dynamic", "x.0=n")
    assert "tensor<?x4xf32>" in text["ir"]


def test_a_changed_array_is_seen(capfd, tmp_path, model):
    import numpy as np

    array = tmp_path / "x.npy"
    for value in (1.0, 2.0):
        np.save(array, np.full((2, 4), value, np.float32))
        document, _ = command(capfd, "run", model, "--input", array)
        assert document["results"][1]["values"] == [8 * value]


def test_quantization_and_its_batches_are_seen(capfd, tmp_path, model):
    import numpy as np

    batch = tmp_path / "batch.npz"
    found = [command(capfd, "run", model)[0]["results"][0]["values"]]
    for largest in (8.0, 0.1):
        x = np.linspace(-largest, largest, 8, dtype=np.float32).reshape(2, 4)
        np.savez(batch, x=x)
        options = ("--quantize", "int8", "--calibrate", batch, "--integer")
        found.append(command(capfd, "run", model, *options)[0]["results"][0]["values"])
    # Scales from small numbers saturate.
    assert np.allclose(found[0], found[1], atol=0.2)
    assert found[0] != found[1] and not np.allclose(found[1], found[2], atol=0.2)


def test_a_model_that_reads_a_file_is_captured_each_time(capfd, tmp_path):
    data = tmp_path / "scale.txt"
    file = tmp_path / "reads.py"
    file.write_text(
        textwrap.dedent(f"""
        import torch
        def model():
            scale = float(open({str(data)!r}).read())
            return (lambda x: x * scale), (torch.ones(3),)
        """)
    )
    for value in (2.0, 3.0):
        data.write_text(str(value))
        document, err = command(capfd, "run", file, "-v")
        assert document["results"][0]["values"] == [value] * 3
        assert f"not stored: the model's code reads {data}" in err
    assert entry(file) is None


def test_a_clock_in_forward_is_seen(capfd, tmp_path):
    file = tmp_path / "late.py"
    file.write_text(
        "import time\nimport torch\n"
        "def late(x):\n    return x + time.time()\n"
        "late.example_args = (torch.ones(3),)\n"
    )
    _, err = command(capfd, "run", f"{file}:late", "-v")
    assert "not stored: the model's code uses the clock" in err


def test_verbose_output_says_where_a_program_is_from(capfd, model):
    _, err = command(capfd, "run", model, "-v")
    assert "cache: captured, because there is no entry for it" in err
    _, err = command(capfd, "run", model, "-v")
    assert "cache: captured on" in err
    (model.parent / "layers.py").write_text("scale = 5.0\n")
    _, err = command(capfd, "run", model, "-v")
    assert f"cache: captured, because {model.parent / 'layers.py'} has changed" in err


def test_no_cache_captures_again(capfd, model):
    command(capfd, "run", model)
    used = {path: path.stat().st_mtime_ns for path in programs_folder().rglob("*")}
    document, err = command(capfd, "run", model, "--no-cache", "-v")
    assert "cache: the cache is disabled" in err
    assert document["seconds"]["lower"] > 0
    assert {path: path.stat().st_mtime_ns for path in programs_folder().rglob("*")} == used


def test_a_full_disk_loses_the_entry_only(capfd, tmp_path, model, small_files):
    command(capfd, "import", model)
    large = tmp_path / "large.py"
    large.write_text(
        "import torch\ndef model():\n    return torch.nn.Linear(256, 256), (torch.ones(1, 256),)\n"
    )
    # The limit is smaller than the weights and larger than the IR.
    with small_files(1 << 14):
        document, err = command(capfd, "import", large)
    assert "linalg.matmul" in document["ir"]
    assert "cannot store the captured program" in err
    assert entry(large) is None
    assert [path.name for path in programs_folder().iterdir()] == [entry(model).folder.name]
    again, _ = command(capfd, "import", large)
    assert again["ir"] == document["ir"]
    assert entry(large) is not None


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bert")
    config = transformers.BertConfig(
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=64,
        vocab_size=50,
        max_position_embeddings=32,
    )
    torch.manual_seed(0)
    transformers.BertModel(config).eval().save_pretrained(folder)
    return folder


def test_a_folder_of_hugging_face(capfd, bert, tmp_path, in_fork):
    folder = tmp_path / "bert"
    folder.mkdir()
    for path in bert.iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    model = f"hf:{folder}"
    ((first, _),) = in_fork(["run", model])
    # The weights are mapped from the model's own file.
    found = entry(model)
    there = {place["file"] for place in found.about["weights"].values()}
    assert there == {str(folder / "model.safetensors")}
    kept = found.folder / WEIGHTS
    assert not kept.exists() or kept.stat().st_size < 2000
    ((again, imported),) = in_new_process(["run", model])
    assert without_times(again) == without_times(first)
    assert again["results"][0]["path"] == "result['last_hidden_state']"
    assert not {"torch.export._trace", "torchvision", "transformers"}.intersection(imported)
    # Changes the weights, but not the size of the file.
    tensors = transformers.BertModel.from_pretrained(folder)
    with torch.no_grad():
        tensors.embeddings.LayerNorm.bias += 1
    tensors.save_pretrained(folder)
    changed, _ = command(capfd, "run", model)
    assert changed["results"] != first["results"]
    config = folder / "config.json"
    fields = json.loads(config.read_text())
    assert entry(model) is not None
    config.write_text(json.dumps({**fields, "hidden_act": "relu"}))
    assert entry(model) is None
    other, _ = command(capfd, "run", model)
    assert other["results"] != changed["results"]
    # A tokenizer would change the example inputs.
    assert entry(model) is not None
    (folder / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n")
    assert entry(model) is None
