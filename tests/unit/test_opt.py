"""`unmess-opt` as a process."""

import subprocess
import sys


def test_it_starts_without_pytorch():
    """Importing it would take three times as long as all the rest, in each of the lit tests."""
    code = "import sys, unmess.opt; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
