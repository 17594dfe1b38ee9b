"""Tests that a capture prints what user code prints and logs, and nothing from PyTorch."""

import os
import subprocess
import sys

MODELS = """
import logging, sys, warnings
import torch

def branch(x):
    if x.sum() > 0:
        return x + 1
    return x

def refused(x):
    return torch.from_dlpack(x)

def says(x):
    print("printed")
    logging.getLogger("mine").warning("logged")
    warnings.warn("warned")
    return x
"""
CAPTURE = """
import unmess
for name in sys.argv[1:]:
    try:
        program = unmess.capture(globals()[name], (torch.ones(3),))
        notes = [str(note) for note in program.notes if note.kind == "fallback"]
        assert name != "branch" or any("non-strict failed" in note for note in notes), notes
    except unmess.Error as error:
        assert name == "refused", error
"""


def captured(*names, **environment):
    done = subprocess.run(
        [sys.executable, "-c", MODELS + CAPTURE, *names],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, **environment},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def test_pytorch_is_quiet():
    assert captured("branch", "refused") == ("", "")


def test_torch_logs_enables_pytorchs_logging():
    _, errors = captured("branch", TORCH_LOGS="+export")
    assert "torch/export/_trace.py" in errors


def test_output_of_user_code_is_printed(tmp_path, python_command):
    script = tmp_path / "says.py"
    script.write_text(MODELS + CAPTURE)
    done = python_command(script, "says")
    assert done.returncode == 0, done.stderr
    assert set(done.stdout.splitlines()) == {"printed"}
    assert "logged" in done.stderr.splitlines()
    assert "UserWarning: warned" in done.stderr


def test_a_command_prints_the_users_logging(tmp_path, unmess_command):
    (tmp_path / "says.py").write_text(f"{MODELS}\nsays.example_args = torch.ones(3)\n")
    done = unmess_command("import", "says.py:says", "--to", "raw", "-q", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    lines = done.stderr.splitlines()
    assert {line for line in lines if "warn" not in line} == {"printed", "logged"}
    assert any(line.endswith("UserWarning: warned") for line in lines)
