"""The command line in its own process: streams, exit statuses, crashes and interruptions."""

import json
import os
import signal
import subprocess
import sys

import pytest
import torch

from pipelines.iree.presets import keep_tuned
from pipelines.iree.targets import target as target_of
from pipelines.iree.vm_module import program_key
from tests.shared.processes import is_gone, wait_until
from unmess import TargetOptions, capture

MODELS = """
import os
import signal
import time

import torch

print("printed while the file is imported")


def good():
    os.system("echo printed by another program")
    return torch.nn.Linear(3, 2).eval(), (torch.ones(1, 3),)


def random():
    return (lambda x: x + torch.rand(3)), (torch.ones(3),)


def raises():
    raise KeyError("no_layer")


def killed():
    os.kill(os.getpid(), signal.SIGKILL)


class Crashes(torch.nn.Module):
    def forward(self, x):
        if not torch.compiler.is_compiling():
            os.kill(os.getpid(), signal.SIGSEGV)
        return x + 1


def crashes():
    return Crashes(), (torch.ones(3),)


def branches(x):
    return torch.from_dlpack(x) if x.sum() > 0 else x


branches.example_args = (torch.ones(3),)


def exits(x):
    raise SystemExit(0)


exits.example_args = (torch.ones(3),)


def not_a_number(x):
    return {"values": x / 0, "sum": (x / x).sum()}


not_a_number.example_args = (torch.tensor([0.0, 1.0]),)


def repaired(x):
    return x.as_strided((3, 1), (1, 1))


repaired.example_args = (torch.ones(3),)


def sleeps():
    with open(os.environ["PID_FILE"], "w") as file:
        print(os.getpid(), file=file)
    time.sleep(600)
"""


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """Returns the path of a Python file with models that work and models that fail."""
    path = tmp_path_factory.mktemp("cli") / "models.py"
    path.write_text(MODELS)
    return path


def command(*arguments):
    return [sys.executable, "-m", "unmess", *map(str, arguments)]


@pytest.fixture(scope="module")
def unmess(unmess_command):
    """Runs a command line of unmess."""
    return unmess_command


def line_of(text):
    """Returns the line number of `text` in MODELS."""
    return next(n for n, line in enumerate(MODELS.splitlines(), 1) if line.strip() == text)


@pytest.fixture(scope="module")
def checked(unmess, models, tmp_path_factory):
    """Checks models of every kind; returns the process, and its rows by model and runner."""
    names = ("good", "random", "raises", "crashes", "killed", "branches", "exits")
    # Use an empty cache: a cached program takes 0 seconds to lower.
    environment = os.environ | {"UNMESS_CACHE": str(tmp_path_factory.mktemp("cache"))}
    process = unmess("check", "--json", *(f"{models}:{name}" for name in names), env=environment)
    rows = json.loads(process.stdout)
    return process, {(row["model"].rpartition(":")[2], row["runner"]): row for row in rows}


RUNNERS = ("reference", "iree-cpu")


def test_check_gives_each_model_and_runner_one_row(checked):
    process, rows = checked
    assert [*rows] == [
        (name, runner)
        for name in ("good", "random", "raises", "crashes", "killed", "branches", "exits")
        for runner in RUNNERS
    ]
    assert all(
        row.keys()
        == {
            *("model", "runner", "ok", "stage", "error", "max_abs_error", "max_rel_error"),
            *("seconds", "peak_rss_mb", "where", "hint", "repro", "notes", "sizes", "via"),
            *("with_plain", "max_element_error"),
        }
        for row in rows.values()
    )
    steps = {"capture", "import", "lower", "compile", "load", "run", "eager"}
    assert all(row["seconds"].keys() == steps for row in rows.values())
    assert process.returncode == 3  # the status of the worst row
    assert "Traceback" not in process.stderr


@pytest.mark.parametrize("runner", RUNNERS)
def test_a_right_result(checked, runner):
    row = checked[1]["good", runner]
    assert (row["ok"], row["stage"], row["error"]) == (True, "done", None)
    assert row["max_abs_error"] < 1e-6
    assert all(seconds > 0 for seconds in row["seconds"].values())
    assert row["peak_rss_mb"] > 50


@pytest.mark.parametrize("runner", RUNNERS)
def test_a_wrong_result(checked, runner):
    row = checked[1]["random", runner]
    assert (row["ok"], row["stage"]) == (False, "compare")
    assert "differs" in row["error"]
    assert row["max_abs_error"] > 1e-3


@pytest.mark.parametrize("runner", RUNNERS)
def test_a_factory_that_raises(checked, models, runner):
    row = checked[1]["raises", runner]
    assert (row["ok"], row["stage"]) == (False, "source")
    assert "KeyError: 'no_layer'" in row["error"]
    raising = line_of('raise KeyError("no_layer")')
    assert row["where"] == f"{models}:{raising}"


@pytest.mark.parametrize("runner", RUNNERS)
def test_a_crash_fails_its_row_and_leaves_a_reproducer(checked, runner):
    row = checked[1]["crashes", runner]
    assert (row["ok"], row["stage"]) == (False, "run")
    assert row["error"] == "crashed with SIGSEGV in stage run"
    assert row["seconds"]["compile"] > 0
    with open(row["repro"]) as file:
        text = file.read()
    assert f"on {runner}: crashed with SIGSEGV in stage run" in text.splitlines()[0]
    assert "linalg.generic" in text


def test_a_crash_of_a_tuned_program_is_reproduced_with_its_preset(
    unmess, models, tmp_path, monkeypatch
):
    monkeypatch.setenv("UNMESS_CACHE", str(tmp_path))
    module = capture(f"{models}:crashes").to_module()
    target = target_of("iree-cpu", TargetOptions())
    keep_tuned(program_key(module, "iree-cpu", target), "data-tiling", "iree-cpu", module.name)
    process = unmess("check", "--json", "--on", "iree-cpu", f"{models}:crashes")
    (row,) = json.loads(process.stdout)
    assert row["error"] == "crashed with SIGSEGV in stage run"
    with open(row["repro"]) as file:
        assert "--iree-opt-data-tiling" in file.readlines()[1]


@pytest.mark.parametrize("runner", RUNNERS)
def test_a_process_that_the_system_kills(checked, runner):
    row = checked[1]["killed", runner]
    assert row["error"] == "crashed with SIGKILL in stage source"
    assert "memory" in row["hint"]


@pytest.mark.parametrize("runner", RUNNERS)
def test_a_model_that_does_not_export(checked, models, runner):
    row = checked[1]["branches", runner]
    assert (row["ok"], row["stage"]) == (False, "capture")
    assert (
        row["where"] == f"{models}:{line_of('return torch.from_dlpack(x) if x.sum() > 0 else x')}"
    )
    assert "torch.where" in row["hint"]


@pytest.mark.parametrize("runner", RUNNERS)
def test_a_model_that_ends_the_process(checked, models, runner):
    row = checked[1]["exits", runner]
    assert (row["ok"], row["stage"]) == (False, "capture")
    assert row["where"] == f"{models}:{line_of('raise SystemExit(0)')}"


def test_check_sends_prints_to_stderr_and_silences_libraries(checked):
    process, _ = checked
    assert "printed while the file is imported\n" in process.stderr
    assert "printed by another program\n" in process.stderr
    assert "symbolic_shapes" not in process.stderr  # PyTorch's log of export failures
    assert "def forward" not in process.stderr


def test_check_prints_a_table_and_then_errors(unmess, models):
    process = unmess("check", f"{models}:random", "--on", "reference", "--on", "reference", "-q")
    assert process.returncode == 1
    table, _, errors = process.stdout.partition("compare: ")
    assert table.count("reference") == 1
    assert f"\n  model: {models}:random on reference\n" in errors
    progress = [line for line in process.stderr.splitlines() if "printed" not in line]
    assert not progress


def test_parallel_checks_are_reported_in_argument_order(unmess, models):
    names = [f"{models}:{name}" for name in ("good", "raises", "random")]
    process = unmess("check", "--json", "--jobs", "3", *names, "--on", "reference")
    rows = json.loads(process.stdout)
    assert [row["model"] for row in rows] == names
    assert [row["stage"] for row in rows] == ["done", "source", "compare"]
    assert process.returncode == 2


def test_timeout(unmess, models, tmp_path):
    environment = {**os.environ, "PID_FILE": str(tmp_path / "pid")}
    process = unmess(*("check", f"{models}:sleeps", "--json", "--timeout", "5"), env=environment)
    rows = json.loads(process.stdout)
    assert [row["error"] for row in rows] == ["timed out after 5 s in stage source"] * 2
    assert_gone(int((tmp_path / "pid").read_text()))


def test_interrupt_keeps_the_rows_that_are_finished(unmess, models, tmp_path):
    pid_file, out, err = (tmp_path / name for name in ("pid", "out", "err"))
    names = f"{models}:good", f"{models}:sleeps"
    with (
        open(out, "w") as stdout,
        open(err, "w") as stderr,
        unmess.start(
            *("check", *names, "--on", "reference", "--json", "--jobs", "1"),
            stdout=stdout.fileno(),
            stderr=stderr.fileno(),
            environment={**os.environ, "PID_FILE": str(pid_file)},
        ) as process,
    ):
        wait_until(lambda: pid_file.is_file() and pid_file.read_text().endswith("\n"))
        os.kill(process.pid, signal.SIGINT)
        assert process.wait(30) == 130
    assert [row["stage"] for row in json.loads(out.read_text())] == ["done"]
    assert "interrupted: 1 of 2 checks are finished" in err.read_text()
    assert "Traceback" not in err.read_text()
    assert_gone(int(pid_file.read_text()))


def test_the_child_does_not_outlive_its_parent(models, tmp_path):
    pid_file = tmp_path / "pid"
    process = subprocess.Popen(
        command("check", f"{models}:sleeps"),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PID_FILE": str(pid_file)},
    )
    wait_until(lambda: pid_file.is_file() and pid_file.read_text().endswith("\n"))
    process.kill()
    process.wait()
    child = int(pid_file.read_text())
    wait_until(lambda: is_gone(child))


def assert_gone(pid):
    assert is_gone(pid), f"process {pid} is still there"


def test_import_prints_ir_and_nothing_else(unmess, models):
    process = unmess("import", f"{models}:good", "--to", "torch")
    assert process.returncode == 0
    assert process.stdout.startswith("module {\n")
    assert "torch.aten." in process.stdout
    assert "printed" not in process.stdout
    assert "printed by another program" in process.stderr


def test_import_as_json_and_into_a_file(unmess, models, tmp_path):
    file = tmp_path / "good.mlir"
    process = unmess("import", f"{models}:good", "-o", file, "--json", "--locations")
    assert process.returncode == 0
    document = json.loads(process.stdout)
    assert (document["ok"], document["stage"], document["ir"]) == (True, "linalg", None)
    assert document["output"] == str(file)
    assert document["weights"] == [
        {"name": "weight", "dtype": "float32", "shape": [2, 3], "argument": 1},
        {"name": "bias", "dtype": "float32", "shape": [2], "argument": 2},
    ]
    (given,) = document["signature"]["inputs"]
    assert (given["dtype"], given["shape"], given["argument"]) == ("float32", [1, 3], 0)
    (result,) = document["signature"]["results"]
    assert (result["kind"], result["shape"]) == ("output", [1, 2])
    assert document["seconds"].keys() == {"capture", "import", "lower", "total"}
    assert "linalg.matmul" in file.read_text()
    assert "loc(" in file.read_text()


def test_import_as_bytecode(unmess, models, tmp_path):
    file = tmp_path / "good.mlirbc"
    assert unmess("import", f"{models}:good", "-o", file).returncode == 0
    assert file.read_bytes().startswith(b"ML\xefR")


def test_a_closed_pipe_ends_the_command_quietly(models):
    reading, writing = os.pipe()
    os.close(reading)
    process = subprocess.run(
        command("import", f"{models}:good", "-q"),
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
        timeout=120,
    )
    os.close(writing)
    assert process.returncode == 141
    assert process.stderr.splitlines() == [
        "printed while the file is imported",
        "printed by another program",
    ]


def test_run_shows_and_saves_the_result(unmess, models, tmp_path):
    file = tmp_path / "result.pt"
    process = unmess("run", f"{models}:good", "--on", "iree-cpu", "--json", "-o", file)
    assert process.returncode == 0
    document = json.loads(process.stdout)
    (leaf,) = document["results"]
    assert (leaf["path"], leaf["dtype"], leaf["shape"]) == ("result", "float32", [1, 2])
    saved = torch.load(file)
    assert leaf["values"] == saved.flatten().tolist()
    assert (leaf["min"], leaf["max"]) == (float(saved.min()), float(saved.max()))
    assert document["seconds"]["run"] > 0


@pytest.mark.parametrize("verb", ["import", "run", "package"])
def test_notes_are_printed_to_stderr(unmess, models, tmp_path, verb):
    output = ["-o", tmp_path / "repaired"] if verb == "package" else []
    process = unmess(verb, f"{models}:repaired", "-v", *output)
    assert process.returncode == 0
    assert "note: repair: layout-only as_strided" in process.stderr
    assert "note:" not in process.stdout


def test_nan_and_infinity_are_null_in_json(unmess, models):
    process = unmess("run", f"{models}:not_a_number", "--json", "--repeat", "0")
    document = json.loads(process.stdout, parse_constant=pytest.fail)
    values, total = document["results"]
    assert (values["path"], values["values"]) == ("result['values']", [None, None])
    assert (values["nonfinite"], values["mean"]) == (2, None)
    assert (total["shape"], total["values"]) == ([], [None])
    assert document["seconds"]["run"] is None


@pytest.mark.parametrize(
    ("name", "status", "stage"), [("raises", 2, "source"), ("branches", 3, "capture")]
)
def test_run_reports_an_error_as_json_and_on_stderr(unmess, models, name, status, stage):
    process = unmess("run", f"{models}:{name}", "--json", "-q")
    assert process.returncode == status
    document = json.loads(process.stdout)
    assert document.keys() == {"ok", "stage", "error", "where", "hint", "repro"}
    assert (document["ok"], document["stage"]) == (False, stage)
    assert document["where"].startswith(f"{models}:")
    assert f"{stage}: {document['error']}\n  at: {document['where']}\n" in process.stderr
    assert "Traceback" not in process.stderr


def test_debug_shows_the_traceback(unmess, models):
    process = unmess("run", f"{models}:raises", "--debug")
    assert process.returncode == 2
    assert "Traceback (most recent call last)" in process.stderr
    assert "KeyError: 'no_layer'" in process.stderr


def test_check_debug_shows_tracebacks_and_the_stack_of_a_crash(unmess, models):
    process = unmess(
        *("check", f"{models}:raises", f"{models}:crashes", "--on", "reference", "--debug")
    )
    assert process.returncode == 3
    assert "Traceback (most recent call last)" in process.stderr
    assert "Fatal Python error: Segmentation fault" in process.stderr
    assert "in forward" in process.stderr


def test_errors_for_unknown_models_suggest_similar_names(unmess, models):
    process = unmess("check", "torchvision:resnet81", f"{models}:god", "--json")
    assert process.returncode == 2
    rows = json.loads(process.stdout)
    assert [row["stage"] for row in rows] == ["source"] * 4
    assert "torchvision:resnet" in rows[0]["hint"] or "resnet18" in rows[0]["hint"]
    assert "good" in rows[2]["hint"]


def test_a_module_in_the_current_folder_shadows_nothing(models, tmp_path):
    (tmp_path / "queue.py").write_text("raise ImportError('the wrong queue')\n")
    script = "import sys; from unmess.__main__ import main; sys.exit(main())"
    process = subprocess.run(
        [sys.executable, "-P", "-c", script, "check", f"{models}:good", "--on", "reference"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert process.returncode == 0, process.stderr
