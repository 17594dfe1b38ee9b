"""Tests `unmess-opt` as a process."""

import subprocess
import sys


def test_opt_does_not_import_pytorch():
    """Importing PyTorch would take three times as long as all else, in every lit test."""
    code = "import sys, unmess.opt; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
