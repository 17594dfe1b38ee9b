"""A fixture that several tests of the environment share."""

import command_line
import pytest
from command_line import CommandLine


@pytest.fixture
def run_with_torch(torch_parent, tmp_path):
    """Runs Python code in a process that has imported torch, but no library that uses it."""
    python = CommandLine(torch_parent, command_line.python, "python")

    def run(code: str):
        (tmp_path / "script.py").write_text(code)
        return python(tmp_path / "script.py", cwd=tmp_path)

    return run
