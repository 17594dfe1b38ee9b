"""Errors of the command line for bad usage, before any work starts."""

import json
import subprocess
import sys

import pytest

from unmess.__main__ import main

WITHOUT_TORCH = """
import sys
from unmess.__main__ import main
status = main({arguments!r})
heavy = {{"torch", "torch_mlir", "iree", "rich", "numpy"}} & set(sys.modules)
assert not heavy, heavy
sys.exit(status)
"""


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (["--help"], 0),
        (["check", "--help"], 0),
        (["--version"], 0),
        ([], 2),
        (["chek"], 2),
        (["import"], 2),
        (["import", "file.py", "--to", "lnalg"], 2),
        (["import", "file.py", "-o", "/no/such/folder/file.mlir"], 2),
        (["run", "file.py", "--on", "gpu"], 2),
        (["ops", "file.py", "--to", "lnalg"], 2),
        (["schema", "--help"], 0),
        (["repairs", "--help"], 0),
        (["recipe", "--help"], 0),
        (["recipe", "file.py", "--on", "gpu"], 2),
        (["check", "file.py", "--on", "reference,gpu"], 2),
        (["package", "file.py", "-o", "out", "--on", "reference"], 2),
        (["package", "file.py", "-o", "out", "--target", "sm_80"], 2),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_help_and_usage_errors_import_nothing_heavy(arguments, status):
    code = WITHOUT_TORCH.format(arguments=arguments)
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert process.returncode == status, process.stderr
    assert "Traceback" not in process.stderr


def run(capsys, *arguments):
    status = main(arguments)
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def test_unknown_command_suggests_one(capsys):
    status, _, stderr = run(capsys, "docter")
    assert status == 2
    assert "Did you mean 'doctor'?" in stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("import", "file.py", "--to", "lnalg"),
            "usage: unknown stage 'lnalg'\n"
            "  hint: use one of raw, torch, linalg, tosa, stablehlo\n",
        ),
        (
            ("import", "file.py", "--weights", "none"),
            "usage: unknown weights 'none'\n  hint: use one of external, inline, elide, splat\n",
        ),
        (
            ("run", "file.py", "--on", "gpu"),
            "usage: unknown runner 'gpu'\n"
            "  hint: a runner is one of reference, iree-cpu, iree-vulkan, iree-cuda, iree-hip; "
            "FILE.py:NAME; FILE.toml\n",
        ),
        (
            ("run", "file.py", "--on", "metal"),
            "usage: unmess can compile for metal here, but not run it\n"
            "  hint: a runner is one of reference, iree-cpu, iree-vulkan, iree-cuda, iree-hip; "
            "`unmess package` accepts metal\n",
        ),
        (
            ("package", "file.py", "-o", "out", "--target", "sm_80"),
            "usage: --target sets the architecture of a GPU, but iree-cpu has no choice of "
            "architectures\n"
            "  hint: use --cpu to choose the CPU\n",
        ),
        (
            ("package", "file.py", "-o", "out", "--on", "metal", "--target", "sm_80"),
            "usage: --target sets the architecture of a GPU, but metal has no choice of "
            "architectures\n"
            "  hint: omit --target\n",
        ),
        (
            ("run", "file.py", "--strategy", "lucky"),
            "usage: unknown capture strategy 'lucky'\n"
            "  hint: use one of auto, non-strict, strict, draft, make_fx, lazy\n",
        ),
        (
            ("check", "file.py", "--on", "gpu,reference,npu", "--strategy", "lucky"),
            "usage: unknown runner 'gpu'; unknown runner 'npu'; unknown capture strategy 'lucky'\n"
            "  hint: a runner is one of reference, iree-cpu, iree-vulkan, iree-cuda, iree-hip; "
            "FILE.py:NAME; FILE.toml; "
            "a strategy is one of auto, non-strict, strict, draft, make_fx, lazy\n",
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_unknown_names(capsys, arguments, message):
    assert run(capsys, *arguments) == (2, "", message)


def test_json_has_the_error_too(capsys):
    status, stdout, stderr = run(capsys, "import", "file.py", "--to", "lnalg", "--json")
    assert status == 2
    assert stderr.startswith("usage: unknown stage 'lnalg'")
    assert json.loads(stdout) == {
        "ok": False,
        "stage": "usage",
        "error": "unknown stage 'lnalg'",
        "where": None,
        "hint": "use one of raw, torch, linalg, tosa, stablehlo",
        "repro": None,
    }


def test_check_gives_rows_even_for_bad_usage(capsys):
    status, stdout, _ = run(capsys, "check", "a.py", "b.py", "--on", "gpu", "--json")
    assert status == 2
    rows = json.loads(stdout)
    assert [(row["model"], row["runner"]) for row in rows] == [("a.py", "gpu"), ("b.py", "gpu")]
    assert all((row["ok"], row["stage"]) == (False, "usage") for row in rows)


@pytest.mark.parametrize("command", ["import", "run"])
def test_an_output_that_cannot_be_written(capsys, tmp_path, command):
    (tmp_path / "plain").touch()
    for output, cause in [
        (tmp_path, "the path is a folder"),
        (tmp_path / "missing" / "file", "No such file or directory"),
        (tmp_path / "plain" / "file", "Not a directory"),
    ]:
        status, stdout, stderr = run(capsys, command, "file.py", "-o", output.as_posix())
        assert (status, stdout) == (2, "")
        assert stderr.startswith(f"usage: cannot write {output}: {cause}\n")


def test_an_unexpected_exception_is_one_line(capsys, monkeypatch):
    def fail(*_args):
        exec("raise ZeroDivisionError('by zero')")  # exec: this file counts as user code

    monkeypatch.setattr("unmess.environment.doctor.examine", fail)
    status, stdout, stderr = run(capsys, "doctor")
    assert (status, stdout) == (3, "")
    assert stderr == (
        "internal error: ZeroDivisionError: by zero "
        "(report this bug in unmess; --debug shows the traceback)\n"
    )
    status, _, stderr = run(capsys, "doctor", "--debug")
    assert status == 3
    assert "Traceback (most recent call last)" in stderr


def test_interrupted(capsys, monkeypatch):
    def interrupt():
        raise KeyboardInterrupt

    monkeypatch.setattr("unmess.environment.doctor.examine", interrupt)
    assert run(capsys, "doctor") == (130, "", "interrupted\n")


def test_names_match_the_library():
    """`unmess.core.options.names` repeats the names, to check them without PyTorch."""
    from importers.capture.strategies import STRATEGIES as CLASSES
    from pipelines.backends.table import IREE_TARGETS
    from pipelines.iree.targets import KINDS
    from pipelines.stages import PATHS
    from unmess.core.errors.stages import IR_STAGES
    from unmess.core.options.names import STRATEGIES

    assert ("auto", *(strategy.name for strategy in CLASSES)) == STRATEGIES
    assert tuple(PATHS) == IR_STAGES
    assert tuple(KINDS) == IREE_TARGETS


@pytest.mark.parametrize("text", ["nan", "inf", "-inf", "0", "-1", "1e999", "", "soon"])
def test_a_timeout_is_a_positive_number_of_seconds(capsys, text):
    status, stdout, stderr = run(capsys, "check", "file.py", "--timeout", text)
    assert (status, stdout) == (2, "")
    assert stderr.splitlines()[-1].startswith("Error: Invalid value for '--timeout': ")


@pytest.mark.parametrize("model", ["n" * 5000, "n" * 5000 + ".pt", "n" * 5000 + ".py:model"])
def test_a_model_string_that_is_too_long(capsys, model):
    status, stdout, stderr = run(capsys, "import", "-q", model)
    assert (status, stdout) == (2, "")
    assert stderr == f"source: cannot look for {'n' * 99}…: File name too long\n"


def test_a_folder_that_may_not_be_searched(capsys, monkeypatch):
    def refuse(path):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.is_file", refuse)
    status, _, stderr = run(capsys, "import", "-q", "folder/model.pt")
    assert (status, stderr) == (2, "source: cannot look for folder/model.pt: Permission denied\n")


def test_an_output_folder_that_is_too_long(capsys, tmp_path):
    (tmp_path / "net.py").touch()
    status, _, stderr = run(capsys, "package", "-q", f"{tmp_path}/net.py", "-o", "n" * 5000)
    assert status == 2
    assert stderr.splitlines()[0].endswith(": File name too long")
