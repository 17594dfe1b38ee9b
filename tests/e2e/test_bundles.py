"""Bundles match eager in an environment without PyTorch; invalid bundles and calls are refused."""

import json
import pickle
import subprocess
import threading
from collections import namedtuple
from dataclasses import replace
from pathlib import Path

import iree.runtime as rt
import ml_dtypes
import numpy as np
import pytest
import torch
from click.testing import CliRunner

import unmess
from benchmarks.peer_environment import bare_environment
from pipelines.iree.cpu_features import parse_target, required_cpu
from pipelines.iree.devices import Devices, devices
from pipelines.iree.targets import driver, remedy, target
from unmess.bundle.manifest import NAME, read_manifest
from unmess.cli import cli
from unmess.core.files import reading
from unmess.core.options import processor
from unmess.core.signature.signature import Constant
from unmess.packaging import package

# Loads a bundle and makes calls. Each call is (entry or None, args, kwargs).
_SCRIPT = """
import pickle, sys
import unmess.bundle

folder, calls = pickle.load(sys.stdin.buffer)
run = unmess.bundle.load(folder)
results = [(run if entry is None else run[entry])(*args, **kwargs) for entry, args, kwargs in calls]
foreign = ("torch", "torch_mlir", "transformers", "importers", "pipelines", "rich", "click")
assert not [name for name in sys.modules if name.partition(".")[0] in foreign]
for name in foreign:
    try:
        __import__(name)
    except ImportError:
        continue
    raise AssertionError(name)
if isinstance(results[0], dict):
    for result in results:
        assert result["pair"].factor is result["pair"][1]
        # Its class is nobody's, and cannot be pickled.
        result["pair"] = tuple(result["pair"])
pickle.dump((results, run.state), sys.stdout.buffer)
"""

Pair = namedtuple("Pair", "product factor")


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    """Runs a bundle in an environment without PyTorch: `results, state = bare(folder, *calls)`."""
    python = bare_environment(tmp_path_factory.mktemp("bare"))

    def run(bundle, *calls):
        done = subprocess.run(
            [python, "-I", "-c", _SCRIPT],
            input=pickle.dumps((str(bundle), calls)),
            capture_output=True,
        )
        assert done.returncode == 0, done.stderr.decode()
        return pickle.loads(done.stdout)

    return run


class Scaled(torch.nn.Module):
    """A model with containers of all kinds, numbers, a constant, dynamic sizes, bf16 and state."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.linear = torch.nn.Linear(4, 3)
        self.register_buffer("calls", torch.zeros((), dtype=torch.int64))
        self.register_buffer("last", torch.zeros(4))

    def forward(self, given, scale, *, offset=None, mode="plain"):
        x, (y, small) = given["x"], given["rest"]
        self.calls.add_(1)
        self.last.copy_(x[0])
        hidden = torch.relu(self.linear(x)) * scale
        return {
            "hidden": hidden,
            "pair": Pair(y @ x, small * 2),
            "none": offset,
            "list": [x.sum(), self.calls * 2, torch.arange(3) > 1],
        }


def inputs(rows):
    torch.manual_seed(rows)
    small = torch.tensor([1.5, -2.25], dtype=torch.bfloat16)
    return {"x": torch.randn(rows, 4), "rest": [torch.randn(2, rows), small]}


@pytest.fixture(scope="module")
def scaled(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bundles") / "scaled"
    rows = torch.export.Dim("rows", min=2, max=50)
    shapes = {
        "given": {"x": {0: rows}, "rest": [{1: rows}, None]},
        "scale": torch.export.Dim.DYNAMIC,
        "offset": None,
        "mode": None,
    }
    kwargs = {"offset": None, "mode": "plain"}
    program = unmess.capture(Scaled(), (inputs(5), 3), kwargs, dynamic_shapes=shapes)
    package(program, folder)
    return folder


def as_numpy(value):
    if isinstance(value, torch.Tensor):
        if value.dtype == torch.bfloat16:
            return value.view(torch.int16).numpy().view(ml_dtypes.bfloat16)
        return value.numpy()
    if isinstance(value, dict):
        return {key: as_numpy(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [as_numpy(item) for item in value]
    return value


def compare(found, expected):
    """Compares containers, dtypes, shapes and values. Namedtuples compare as tuples."""
    if isinstance(expected, torch.Tensor):
        expected = as_numpy(expected.detach())
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
        np.testing.assert_allclose(
            found.astype(np.float64), expected.astype(np.float64), rtol=1e-5, atol=1e-6
        )
    elif isinstance(expected, dict):
        assert list(found) == list(expected)
        for key, item in expected.items():
            compare(found[key], item)
    elif isinstance(expected, (list, tuple)):
        assert len(found) == len(expected) and isinstance(found, list) == (type(expected) is list)
        for item, wanted in zip(found, expected, strict=True):
            compare(item, wanted)
    else:
        assert (type(found), found) == (type(expected), expected)


def test_containers_numbers_sizes_and_state_without_pytorch(bare, scaled):
    eager = Scaled()
    calls = [(inputs(rows), scale) for rows, scale in ((5, 3), (2, -7), (50, 2))]
    script_calls = [
        (None, as_numpy(args), {"mode": "plain", "offset": None})
        if index
        else (
            None,
            (),
            {"given": as_numpy(args[0]), "scale": args[1], "mode": "plain", "offset": None},
        )
        for index, args in enumerate(calls)
    ]
    results, state = bare(scaled, *script_calls)
    for result, args in zip(results, calls, strict=True):
        compare(result, eager(*args))
    compare(state, {"calls": eager.calls, "last": eager.last})


class Counter(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.tensor([1.0, 2.0, 3.0]))
        self.register_buffer("total", torch.zeros(3))

    def add(self, x):
        self.total.add_(x * self.weight)
        return self.total.sum()

    def read(self):
        return self.total * self.weight


def test_entry_points_share_weights_and_state(bare, tmp_path):
    model, eager = Counter(), Counter()
    x = torch.tensor([1.0, 10.0, 100.0])
    programs = unmess.combine(
        {"add": unmess.capture(model.add, (x,)), "read": unmess.capture(model.read)}
    )
    unmess.package(programs, tmp_path / "counter")
    results, state = bare(
        tmp_path / "counter",
        ("add", (x.numpy(),), {}),
        ("read", (), {}),
        ("add", (2 * x.numpy(),), {}),
        ("read", (), {}),
    )
    expected = [eager.add(x).clone(), eager.read(), eager.add(2 * x).clone(), eager.read()]
    for result, wanted in zip(results, expected, strict=True):
        compare(result, wanted)
    (total,) = state.values()
    compare(total, eager.total)

    run = unmess.bundle.load(tmp_path / "counter")
    with pytest.raises(unmess.Error, match="several entry points: add, read"):
        run(x.numpy())
    with pytest.raises(unmess.Error, match="no entry point 'sub'"):
        run["sub"]
    compare(run.add(x.numpy()), expected[0])
    run.reset()
    compare(run.read(), torch.zeros(3))
    threads = [
        threading.Thread(target=lambda: [run.add(x.numpy()) for _ in range(25)]) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    compare(run.read(), x * 200 * model.weight * model.weight)


class TwoCounts(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("first", torch.ones(4))
        self.register_buffer("second", torch.ones(4))

    def clear(self, x):
        self.first.copy_(torch.zeros(4))
        self.second.copy_(torch.zeros(4))
        return x + 1

    def write(self, x):
        self.first.copy_(self.first.slice_scatter(x, start=1, end=3))
        return self.first + self.second


def test_equal_state_has_memory_of_its_own(tmp_path):
    model, x = TwoCounts(), torch.full((2,), 5.0)
    programs = unmess.combine(
        {"clear": unmess.capture(model.clear, (x,)), "write": unmess.capture(model.write, (x,))}
    )
    unmess.package(programs, tmp_path / "b", on="iree-cpu")
    run = unmess.bundle.load(tmp_path / "b")
    run.clear(x.numpy())
    # IREE returned the zeros of `first` and `second` in one buffer. `write` updates `first` in
    # place.
    assert run.write(x.numpy()).tolist() == [0, 5, 5, 0]
    assert run.state["second"].tolist() == [0, 0, 0, 0]
    assert run.state["first"].tolist() == [0, 5, 5, 0]


def test_state_stays_on_a_device_with_memory_of_its_own(tmp_path, vulkan):
    model, eager = Counter(), Counter()
    x = torch.tensor([1.0, 10.0, 100.0])
    package(unmess.capture(model.add, (x,)), tmp_path / "add", on="iree-vulkan")
    run = unmess.bundle.load(tmp_path / "add")
    for _ in range(3):
        compare(run(x.numpy()), eager.add(x).clone())
    compare(list(run.state.values()), [eager.total])


def anonymous() -> int:
    """Returns the bytes of this process's anonymous memory: the memory that no file backs."""
    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("Anonymous:"))) << 10


def test_weights_are_mapped_and_not_copied(tmp_path):
    model = torch.nn.Embedding(10_000, 1_024)
    rows = torch.tensor([7, 9_999])
    package(unmess.capture(model, (rows,)), tmp_path / "table")
    size = (tmp_path / "table" / "weights.irpa").stat().st_size
    assert size >= 4 * 10_000 * 1_024
    before = anonymous()
    kept = [unmess.bundle.load(tmp_path / "table") for _ in range(4)]
    for run in kept:
        compare(run(rows.numpy()), model(rows))
    assert anonymous() - before < size / 4


def test_tensors_without_elements(tmp_path):
    model = torch.nn.Module()
    model.register_buffer("none", torch.zeros(0, 3))
    model.forward = lambda x: (x * 2, model.none.add_(1).clone(), model.none.shape[0])
    package(unmess.capture(model, (torch.ones(0, 4),)), tmp_path / "empty")
    run = unmess.bundle.load(tmp_path / "empty")
    compare(run(np.ones((0, 4), np.float32)), (torch.ones(0, 4), torch.zeros(0, 3), 0))


@pytest.mark.parametrize(
    ("change", "cause"),
    [
        (lambda call: call.update(scale=1.0), "scale is 1.0, expected int"),
        (lambda call: call.update(mode="other"), "mode is 'other', but the capture fixed it"),
        (lambda call: call.pop("offset"), "does not match the captured call"),
        (lambda call: call["given"].pop("x"), r"given is a dict with the keys \['rest'\]"),
        (lambda call: call["given"]["rest"].pop(), r"given\['rest'\] is a list of 1"),
        (lambda call: call["given"].update(x=[1.0]), "is a list, expected an array"),
        (
            lambda call: call["given"].update(x=np.ones((5, 4))),
            "has dtype float64, expected float32",
        ),
        (
            lambda call: call["given"].update(x=np.ones((5, 3), np.float32)),
            r"run: given_x\.shape\[1\] is 3, expected 4\n",
        ),
        (lambda call: call["given"].update(x=np.ones((1, 4), np.float32)), "expected 2 to 50"),
        (lambda call: call["given"].update(x=np.ones((6, 4), np.float32)), "they must be equal"),
        (lambda call: call["given"].update(x=np.ones(4, np.float32)), "has rank 1, expected 2"),
    ],
)
def test_a_call_that_does_not_fit_is_refused(scaled, change, cause):
    call = {"given": as_numpy(inputs(5)), "scale": 4, "offset": None, "mode": "plain"}
    run = unmess.bundle.load(scaled)
    assert run(**call)["hidden"].shape == (5, 3)
    change(call)
    with pytest.raises(unmess.Error, match=cause) as caught:
        run(**call)
    assert caught.value.stage == "run"


def test_a_failing_check_is_an_error(tmp_path):
    def row(place, table):
        start = place.item()
        torch._check(start >= 0)
        torch._check(start < 3)
        return table.narrow(0, start, 1) * 2

    table = torch.randn(3, 4)
    package(unmess.capture(row, (torch.tensor(1), table)), tmp_path / "row")
    run = unmess.bundle.load(tmp_path / "row")
    compare(run(np.array(2), table.numpy()), table[2:] * 2)
    with pytest.raises(unmess.Error, match="a check in the program failed") as caught:
        run(np.array(3), table.numpy())
    assert caught.value.stage == "run"
    compare(run(np.array(0), table.numpy()), table[:1] * 2)


@pytest.fixture
def copied(scaled, tmp_path):
    folder = tmp_path / "copy"
    folder.mkdir()
    for path in scaled.iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    return folder


def edit(folder, **changes):
    """Changes fields of the manifest and updates its checksum."""
    replace(read_manifest(folder), **changes).write(folder)


def alter(folder, **changes):
    """Changes fields of the manifest without updating its checksum."""
    path = folder / NAME
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def rewrite(folder, name, **tensors):
    """Replaces a file by one with other tensors and updates its checksum in the manifest."""
    index = rt.ParameterIndex()
    for each, tensor in tensors.items():
        index.add_buffer(each.replace("_", "."), tensor.numpy())
    (folder / name).unlink()
    index.create_archive_file(str(folder / name))
    edit(folder, files=reading.described(folder, list(read_manifest(folder).files)))


def flip(path):
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize(
    ("damage", "cause"),
    [
        (lambda f: (f / "weights.irpa").unlink(), "weights.irpa is missing"),
        (lambda f: flip(f / "weights.irpa"), "weights.irpa was altered"),
        (lambda f: flip(f / "module.vmfb"), "module.vmfb was altered"),
        (lambda f: flip(f / "state.irpa"), "state.irpa was altered"),
        (lambda f: (f / "signature.json").write_text("{}"), "signature.json was altered"),
        (lambda f: (f / "bundle.json").unlink(), "not a bundle"),
        (lambda f: (f / "bundle.json").write_text("{"), "bundle.json is damaged"),
        (lambda f: (f / "bundle.json").write_text("[]"), "bundle.json is damaged"),
        (lambda f: alter(f, name="other"), "bundle.json was altered"),
        (lambda f: alter(f, files=[]), "bundle.json was altered"),
        (lambda f: alter(f, format=2), "format 2, but this version of unmess reads format 3"),
        (lambda f: alter(f, format=4), "format 4, but this version of unmess reads format 3"),
        (lambda f: edit(f, files={}), "bundle.json does not list module.vmfb"),
        (lambda f: edit(f, machine="riscv64"), "for riscv64 CPUs, but this is a"),
        (lambda f: edit(f, features=["sse2", "amx-none"]), "this CPU lacks amx-none"),
        (
            lambda f: edit(f, runner="iree-cuda", architecture="sm_80", device="cuda-none"),
            r"the bundle is for iree-cuda \(sm_80\), but there is no such device here: "
            r"no driver 'cuda-none' registered\n",
        ),
        (
            lambda f: rewrite(
                f, "weights.irpa", linear_weight=torch.ones(2, 4), linear_bias=torch.ones(3)
            ),
            r"linear.weight. range out of bounds .*length=48, size=32\)\n",
        ),
        (
            lambda f: rewrite(f, "weights.irpa", linear_weight=torch.ones(3, 4)),
            "no parameter found in index with key 'linear.bias'\n",
        ),
        (
            lambda f: rewrite(f, "state.irpa", calls=torch.tensor(0), last=torch.ones(3)),
            r"state.irpa has 12 bytes for last \(4xfloat32\), expected 16",
        ),
        (
            lambda f: rewrite(f, "state.irpa", last=torch.ones(4)),
            r"state.irpa has 0 bytes for calls \(int64\), expected 8",
        ),
        (lambda f: edit(f, scope="other"), "IREE cannot load the bundle on local-task: [^/]*$"),
    ],
)
def test_what_cannot_be_right_is_refused_in_one_line(copied, damage, cause):
    assert unmess.bundle.load(copied).signatures.keys() == {"main"}
    damage(copied)
    with pytest.raises(unmess.Error, match=cause) as caught:
        unmess.bundle.load(copied)
    assert caught.value.stage == "load" and caught.value.hint
    assert "\n" not in caught.value.cause


@pytest.mark.parametrize("runner", ["iree-vulkan", "iree-cuda", "iree-hip", "metal"])
def test_a_bundle_for_a_missing_gpu_is_refused(copied, runner):
    device = driver(runner)
    found = devices(device)
    if found.default is not None:
        pytest.skip(f"{device} is there: {found.default.name}")
    edit(copied, runner=runner, device=device, architecture="some")
    with pytest.raises(unmess.Error) as caught:
        unmess.bundle.load(copied)
    here = f"the bundle is for {runner} (some), but there is no such device here: {found.problem}"
    assert (caught.value.cause, caught.value.hint) == (here, remedy(runner))


def test_without_checksums_only_the_size_of_large_files_is_checked(copied, monkeypatch):
    monkeypatch.setattr(reading, "_SMALL", 64)
    flip(copied / "weights.irpa")
    unmess.bundle.load(copied, verify_checksums=False)
    with (copied / "weights.irpa").open("ab") as file:
        file.write(b"x")
    with pytest.raises(unmess.Error, match=r"weights\.irpa was altered"):
        unmess.bundle.load(copied, verify_checksums=False)


def test_deprecated_name_of_verify_checksums(copied, monkeypatch):
    monkeypatch.setattr(reading, "_SMALL", 64)
    flip(copied / "weights.irpa")
    with pytest.warns(
        DeprecationWarning, match="whole is deprecated: use verify_checksums"
    ) as seen:
        unmess.bundle.load(copied, whole=False)
    assert [warning.filename for warning in seen] == [__file__]


def test_required_cpu_features():
    machine, features = required_cpu(target("iree-cpu").options)
    assert machine == processor.machine()
    assert features and features <= processor.processor_features()
    generic = required_cpu(target("iree-cpu", unmess.TargetOptions(cpu="generic")).options)
    assert generic[0] == machine and generic[1] < features
    assert required_cpu(target("iree-vulkan", unmess.TargetOptions(vulkan="rdna3")).options) is None
    text = 'cpu_features = "+avx,+avx2,+pku,-avx2", target_triple = "x86_64-unknown-eabi-elf"'
    assert parse_target(text) == ("x86_64", {"avx"})


def test_invalid_package_requests_are_usage_errors(tmp_path, monkeypatch):
    program = unmess.capture(lambda x: x + 1, (torch.ones(2),))
    (tmp_path / "file").touch()
    restored = replace(program.signature, restore=lambda result: result)
    constant = replace(program.signature, outputs=(Constant(torch.float64),))
    for refused, place, on, cause in (
        (program, tmp_path / "new", "reference", "cannot package a program for reference"),
        (program, tmp_path / "new", "iree-tpu", "unknown runner .*\n.*, iree-hip, metal$"),
        (program, tmp_path, "iree-cpu", "exists already"),
        (program, tmp_path / "file", "iree-cpu", "exists already"),
        (program, tmp_path / "file" / "in", "iree-cpu", "cannot write"),
        (replace(program, signature=restored), tmp_path / "new", "iree-cpu", "without PyTorch"),
        (
            replace(program, signature=constant),
            tmp_path / "new",
            "iree-cpu",
            "the result, fixed to torch.float64, cannot be described without PyTorch",
        ),
    ):
        with pytest.raises(unmess.Error, match=cause) as caught:
            package(refused, place, on=on)
        assert caught.value.stage == "usage"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


_MODEL = """
import torch
def model():
    return torch.nn.Linear(4, 2).eval(), (torch.ones(3, 4),)
"""


def test_the_command(tmp_path):
    (tmp_path / "model.py").write_text(_MODEL)
    output = tmp_path / "out" / "linear"
    arguments = ["package", str(tmp_path / "model.py"), "-o", str(output), "--cpu", "generic"]
    done = CliRunner().invoke(cli, [*arguments, "--json"], standalone_mode=False)
    document = json.loads(done.stdout)
    assert document["ok"] and set(document["files"]) == {
        "module.vmfb",
        "signature.json",
        "weights.irpa",
    }
    assert "avx512f" not in document["features"]
    assert unmess.bundle.load(output)(np.ones((3, 4), np.float32)).shape == (3, 2)
    again = CliRunner().invoke(cli, arguments, standalone_mode=False)
    assert again.return_value == 2 and "exists already" in again.stderr


def packaged(tmp_path, *options):
    """Returns the notes of `unmess package`, which are the same with and without `--json`."""
    (tmp_path / "model.py").write_text(_MODEL)
    done = {}
    for form in ("-v", "--json"):
        output = str(tmp_path / f"out{form}")
        arguments = ["package", str(tmp_path / "model.py"), "-o", output, *options, form]
        done[form] = CliRunner().invoke(cli, arguments, standalone_mode=False)
        assert done[form].return_value == 0, done[form].stderr
    lines = done["-v"].stderr.splitlines()
    notes = [line.removeprefix("note: ") for line in lines if line.startswith("note:")]
    # Ignore notes about the cache: they do not describe the bundle.
    notes = [note for note in notes if not note.startswith("cache: ")]
    assert notes == json.loads(done["--json"].stdout)["notes"]
    assert notes == list(read_manifest(tmp_path / "out-v").notes)
    return notes


def test_the_default_target_is_noted(tmp_path, monkeypatch):
    monkeypatch.setattr("pipelines.iree.targets.devices", lambda driver: Devices(problem="none"))
    expected = "target: compiled for sm_89: there is no CUDA device here"
    assert packaged(tmp_path, "--on", "iree-cuda") == [expected]


def test_the_default_preset_is_noted(tmp_path):
    (note,) = packaged(tmp_path)
    assert note.startswith("preset: data-tiling: matrices packed into tiles; chosen because")
    (tmp_path / "asked").mkdir()
    assert packaged(tmp_path / "asked", "--preset", "plain") == []
    arguments = ["package", str(tmp_path / "model.py"), "-o", str(tmp_path / "no"), "--preset", "x"]
    done = CliRunner().invoke(cli, arguments, standalone_mode=False)
    assert done.return_value == 2 and "usage: unknown preset 'x'" in done.stderr


@pytest.mark.parametrize(
    ("runner", "architecture"),
    [("iree-cuda", "sm_80"), ("iree-hip", "gfx1100"), ("iree-vulkan", "rdna3"), ("metal", None)],
)
def test_bundles_for_missing_gpus_are_compiled(tmp_path, runner, architecture):
    chosen = () if architecture is None else ("--target", architecture)
    assert packaged(tmp_path, "--on", runner, *chosen) == []
    made = read_manifest(tmp_path / "out-v")
    assert (made.runner, made.architecture, made.machine) == (runner, architecture, None)
    mark = {"sm_80": b".target sm_80", None: b"metal_stdlib"}.get(architecture, b"")
    assert mark in (tmp_path / "out-v" / "module.vmfb").read_bytes()
