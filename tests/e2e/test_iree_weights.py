"""Weights on IREE's CPU runner are outside the module, not copied, and shared by processes."""

import contextlib
import gc
import json
import os
import weakref

import iree.runtime as rt
import pytest
import torch
from safetensors.torch import save_file

import unmess
from pipelines.iree import weight_files
from pipelines.iree.compiler import compile_for
from pipelines.iree.targets import target
from unmess.compare import compare

ROWS, COLUMNS = 5000, 4000
WEIGHTS_MB = ROWS * COLUMNS * 4 / 1e6

# Loads a layer whose weight is mapped from a safetensors file, and reports the memory it takes.
LOAD = """
import json, re, sys
import torch, unmess
# Libraries of the runner, whose memory is not that of weights.
import pipelines.iree.backend
from safetensors.torch import load_file

def status():
    text = open("/proc/self/status").read()
    return {name: int(re.search(name + r":\\s+(\\d+)", text)[1]) / 1e3
            for name in ("VmHWM", "RssAnon")}

def mapped(name):
    found, inside = {}, False
    for line in open("/proc/self/smaps"):
        if re.match(r"[0-9a-f]+-[0-9a-f]+ ", line):
            inside = line.rstrip().endswith(name)
        elif inside and line.endswith("kB\\n"):
            key, value = line.split(":")
            found[key] = found.get(key, 0) + int(value.split()[0]) / 1e3
    return found

tensors = load_file(sys.argv[1])
class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(tensors["weight"])
    def forward(self, x):
        return x @ self.weight

layer = Layer()
x = torch.ones(2, layer.weight.shape[0])
module = unmess.lower(unmess.capture(layer, (x,)))
exact = x.double() @ tensors["weight"].double()
eager_error = (layer(x).detach() - exact).abs().max()
open("/proc/self/clear_refs", "w").write("5")
before = status()
run = unmess.load(module, on="iree-cpu", target=unmess.TargetOptions(preset=sys.argv[3]))
result = run(x)
after = status()
report = {
    "right": bool((result - exact).abs().max() <= 8 * eager_error),
    "aligned": layer.weight.data_ptr() % 64 == 0,
    "peak": after["VmHWM"] - before["VmHWM"],
    "own": after["RssAnon"] - before["RssAnon"],
    "notes": [str(note) for note in run.notes],
}
print(json.dumps(report), flush=True)
input()
print(json.dumps(mapped(sys.argv[2])), flush=True)
# The other process looks while this one still has it.
input()
"""


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """Returns a safetensors file whose elements do not begin at a multiple of 64 bytes."""
    torch.manual_seed(0)
    weight = torch.randn(ROWS, COLUMNS) / 100
    for length in range(0, 64, 8):
        path = tmp_path_factory.mktemp("weights") / "model.safetensors"
        save_file({"weight": weight}, path, {"about": "x" * length})
        start = 8 + int.from_bytes(path.read_bytes()[:8], "little")
        if start % 64:
            return path
        path.unlink()
    raise AssertionError("every header ends at a multiple of 64")


@contextlib.contextmanager
def process(python_command, *arguments):
    """Starts a process, which ends with the context. Yields its standard input and output."""
    to_read, to_write = os.pipe()
    output, to_output = os.pipe()
    started = python_command.start(*arguments, stdin=to_read, stdout=to_output, stderr=2)
    os.close(to_read)
    os.close(to_output)
    with started, open(to_write, "w") as commands, open(output) as answers:
        yield commands, answers


@pytest.mark.parametrize("preset", ["plain", "data-tiling"])
def test_two_processes_share_mapped_weights(file, preset, tmp_path, monkeypatch, python_command):
    monkeypatch.setenv("UNMESS_CACHE", str(tmp_path / "cache"))
    script = tmp_path / "load.py"
    script.write_text(LOAD)
    processes, reports = [], []
    with contextlib.ExitStack() as stack:
        # Start one after the other, so that the second process finds the file of the first one.
        for _ in range(2):
            started = process(python_command, script, file, ".irpa", preset)
            processes.append(stack.enter_context(started))
            reports.append(json.loads(processes[-1][1].readline()))
        for commands, answers in processes:
            commands.write("\n")
            commands.flush()
            shares = json.loads(answers.readline())
            assert shares["Rss"] > 0.95 * WEIGHTS_MB
            assert shares["Shared_Clean"] + shares["Shared_Dirty"] > 0.95 * WEIGHTS_MB
            assert shares["Private_Dirty"] + shares["Private_Clean"] < 0.05 * WEIGHTS_MB
    for report in reports:
        assert report["right"] and not report["aligned"]
        assert any(note.startswith("weights: ") for note in report["notes"])
    # Only for the second process: the first one also compiles, and writes the file. The peak
    # includes pages of libraries; a copy of the weights would double it.
    assert reports[1]["peak"] < 1.25 * WEIGHTS_MB
    assert reports[1]["own"] < 0.15 * WEIGHTS_MB
    (archive,) = (tmp_path / "cache" / "weights").iterdir()
    assert archive.stat().st_size < 1.01 * WEIGHTS_MB * 1e6


def assert_right(run, model, x):
    report = compare(unmess.capture(model, (x,)), run, calls=0)
    assert report.ok, report.error


class Layer(torch.nn.Module):
    def __init__(self, dtype=torch.float32):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(300, 200).to(dtype))

    def forward(self, x):
        return x @ self.weight


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
def test_a_module_holds_no_weights_and_keeps_dtypes(dtype):
    layer = Layer(dtype)
    module = unmess.lower(unmess.capture(layer, (torch.ones(2, 300, dtype=dtype),)))
    compiled = compile_for(module, target("iree-cpu"))
    assert len(compiled) < layer.weight.nbytes / 2
    short = {torch.float32: b"f32", torch.bfloat16: b"bf16", torch.float16: b"f16"}[dtype]
    text = module.text().encode()
    assert b"tensor<300x200x" + short in text


@pytest.fixture
def odd_weight():
    """Returns a weight that is not aligned for IREE and large enough to be worth a file."""
    memory = torch.randn((17 << 20) // 4 + 1)
    return memory[1:].view(-1, 17 * 64)


def test_an_archive_is_found_by_the_content_of_its_tensors(odd_weight, tmp_path, monkeypatch):
    monkeypatch.setenv("UNMESS_CACHE", str(tmp_path))
    first = weight_files.aligned_file({"w": odd_weight})
    assert weight_files.aligned_file({"w": odd_weight.clone()}) == first
    odd_weight[3, 3] += 1
    second = weight_files.aligned_file({"w": odd_weight})
    assert second != first
    assert len(list((tmp_path / "weights").iterdir())) == 2


def test_a_damaged_archive_is_written_again(odd_weight, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("UNMESS_CACHE", str(tmp_path))
    path = weight_files.aligned_file({"w": odd_weight})
    whole = path.read_bytes()
    altered = bytearray(whole)
    altered[len(whole) // 2] ^= 1
    for damaged in (whole[: len(whole) // 2], bytes(altered), whole + b"more", b""):
        assert not capsys.readouterr().err
        path.write_bytes(damaged)
        assert weight_files.aligned_file({"w": odd_weight}) == path
        assert path.read_bytes() == whole
        message = f"a file of weights in the cache was damaged and is written again: {path}"
        assert capsys.readouterr().err == f"unmess: {message}\n"


def test_damaged_packed_weights_are_packed_again(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("UNMESS_CACHE", str(tmp_path))
    layer, x = torch.nn.Linear(3000, 1500), torch.randn(2, 3000)
    program = unmess.capture(layer, (x,))
    unmess.load(program, on="iree-cpu")
    (path,) = (tmp_path / "weights").iterdir()
    whole = path.read_bytes()
    path.write_bytes(whole[:1_000_000] + bytes(100_000) + whole[1_100_000:])
    run = unmess.load(program, on="iree-cpu")
    assert "was damaged and is written again" in capsys.readouterr().err
    assert path.read_bytes() == whole
    assert_right(run, layer, x)


def test_the_least_recently_used_archive_is_evicted(odd_weight, tmp_path, monkeypatch):
    monkeypatch.setenv("UNMESS_CACHE", str(tmp_path))
    monkeypatch.setenv("UNMESS_WEIGHTS_MB", "30")
    first = weight_files.aligned_file({"w": odd_weight})
    second = weight_files.aligned_file({"v": odd_weight})
    assert not first.exists() and second.exists()
    monkeypatch.setenv("UNMESS_WEIGHTS_MB", "10")
    assert weight_files.aligned_file({"u": odd_weight}) is None
    monkeypatch.setenv("UNMESS_WEIGHTS_MB", "much")
    with pytest.raises(unmess.Error, match="not a number of megabytes"):
        weight_files.aligned_file({"u": odd_weight})


def test_without_a_writable_folder_weights_stay_in_memory(
    odd_weight, tmp_path, monkeypatch, capsys
):
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("UNMESS_CACHE", str(tmp_path / "file"))
    layer = Layer()
    layer.weight = torch.nn.Parameter(odd_weight)
    x = torch.ones(1, len(odd_weight))
    program = unmess.capture(layer, (x,))
    run = unmess.load(program, on="iree-cpu", target=unmess.TargetOptions(preset="plain"))
    assert not run.notes
    assert "cannot store weights" in capsys.readouterr().err
    assert_right(run, layer, x)
    run = unmess.load(program, on="iree-cpu", target=unmess.TargetOptions(preset="data-tiling"))
    (note,) = run.notes
    assert str(note) == "weights: packed in private memory of this process"
    assert_right(run, layer, x)


def test_a_full_disk_is_detected_before_writing(odd_weight, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("UNMESS_CACHE", str(tmp_path))

    class Full:
        f_bavail, f_frsize = 1000, 4096

    monkeypatch.setattr(weight_files.os, "statvfs", lambda path: Full)
    assert weight_files.aligned_file({"w": odd_weight}) is None
    assert list((tmp_path / "weights").iterdir()) == []
    assert capsys.readouterr().err.endswith("/weights: No space left on device\n")


class Mixed(torch.nn.Module):
    """A model with a packed weight, a tied one, one that is read as it is, and an unused one."""

    def __init__(self):
        super().__init__()
        self.large = torch.nn.Parameter(torch.randn(3000, 1500) / 50)
        self.tied = self.large
        self.register_buffer("rows", torch.arange(4))
        self.unused = torch.nn.Parameter(torch.randn(7))

    def forward(self, x):
        return (x @ self.large) @ self.tied.T + self.rows.sum() * x[:1]


def test_weights_of_equal_content_are_packed_once(tmp_path, monkeypatch):
    monkeypatch.setenv("UNMESS_CACHE", str(tmp_path))
    model, x = Mixed(), torch.randn(5, 3000)
    for _ in range(2):
        run = unmess.load(unmess.capture(model, (x,)), on="iree-cpu")
        assert any("packed weights are stored once in" in note.text for note in run.notes)
        assert_right(run, model, x)
    (first,) = (tmp_path / "weights").iterdir()
    assert first.stat().st_size < 2.1 * model.large.nbytes
    with torch.no_grad():
        model.large.mul_(2)
    run = unmess.load(unmess.capture(model, (x,)), on="iree-cpu")
    assert_right(run, model, x)
    assert len(list((tmp_path / "weights").iterdir())) == 2


class NamedAsPacked(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.parameter0 = torch.nn.Parameter(torch.randn(3000, 1500))

    def forward(self, x):
        return x @ self.parameter0


def test_weights_are_computed_in_f64_where_the_program_does():
    """The norms of rows are sums in f64. IREE computes and packs the weight at load."""
    torch.manual_seed(0)
    model = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(2048, 2304)).eval()
    x = torch.randn(8, 2048)
    run = unmess.load(unmess.capture(model, (x,)), on="iree-cpu")
    # If IREE does not compile the program that packs the weights, the preset is `plain`.
    assert run.preset == "data-tiling"
    torch.testing.assert_close(run(x), model(x).detach(), rtol=1e-5, atol=1e-5)


def test_a_weight_with_the_name_of_a_packed_one():
    model, x = NamedAsPacked(), torch.randn(2, 3000)
    run = unmess.load(unmess.capture(model, (x,)), on="iree-cpu")
    assert_right(run, model, x)


@pytest.mark.parametrize("folder", ["cache", "none"])
@pytest.mark.parametrize("preset", ["plain", "data-tiling"])
def test_memory_given_to_iree_is_never_freed(preset, folder, tmp_path, monkeypatch):
    """IREE's threads drop references without the GIL; freeing memory there can crash."""
    monkeypatch.setenv("UNMESS_CACHE", str(tmp_path))
    if folder == "none":
        monkeypatch.setenv("UNMESS_WEIGHTS_MB", "0")
    given = []
    wrap = rt.FileHandle.wrap_memory

    def wrap_memory(memory, **access):
        given.append(weakref.ref(memory))
        return wrap(memory, **access)

    monkeypatch.setattr(rt.FileHandle, "wrap_memory", wrap_memory)
    model, x = Mixed(), torch.randn(5, 3000)
    target = unmess.TargetOptions(preset=preset)
    run = unmess.load(unmess.capture(model, (x,)), on="iree-cpu", target=target)
    assert_right(run, model, x)
    del run
    gc.collect()
    assert given
    assert all(memory() is not None for memory in given)
