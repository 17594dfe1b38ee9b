"""A native crash of a model is a one-line error of the command, or of one row of `check`."""

import json

import pytest

CAPTURE = """
import os, signal, torch

class Model(torch.nn.Module):
    def forward(self, x):
        os.kill(os.getpid(), signal.SIGSEGV)
        return x

def model():
    return Model(), (torch.ones(2),)
"""
# Reads address 0 during the import.
IMPORT = """
import ctypes, torch
from torch_mlir.extras.fx_importer import GraphNodeImporter

GraphNodeImporter.import_nodes = lambda *_args, **_kwargs: ctypes.string_at(0)

def model():
    return torch.nn.Linear(2, 2), (torch.ones(2),)
"""
COMMANDS = (
    ("import", CAPTURE, "capture"),
    ("import", IMPORT, "import"),
    ("run", IMPORT, "import"),
    ("package -o bundle", IMPORT, "import"),
    ("ops", CAPTURE, "capture"),
)


@pytest.fixture
def unmess(unmess_command, tmp_path):
    """Runs a command line of unmess in the folder of the models."""
    return lambda *arguments: unmess_command(*arguments, "--json", cwd=tmp_path)


@pytest.mark.parametrize(
    ("command", "text", "stage"), COMMANDS, ids=[f"{c.split()[0]}-{s}" for c, _, s in COMMANDS]
)
def test_commands_report_a_crash_of_the_model(command, text, stage, tmp_path, unmess):
    (tmp_path / "crashes.py").write_text(text)
    verb, *rest = command.split()
    done = unmess(verb, "crashes.py", *rest)
    assert done.returncode == 3
    document = json.loads(done.stdout)
    assert (document["stage"], document["error"]) == (stage, "crashed with SIGSEGV")
    assert "Traceback" not in done.stderr


def test_check_goes_on_with_the_next_model(tmp_path, unmess):
    (tmp_path / "crashes.py").write_text(IMPORT)
    (tmp_path / "works.py").write_text(
        "import torch\n\ndef model():\n    return torch.nn.ReLU(), (torch.ones(2),)\n"
    )
    done = unmess("check", "crashes.py", "works.py", "--on", "reference")
    crashed, works = json.loads(done.stdout)
    assert crashed["stage"] == "import"
    assert "SIGSEGV" in crashed["error"]
    assert works["ok"]
