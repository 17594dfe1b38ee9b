"""The command line of the benchmarks."""

import subprocess
import sys

from benchmarks.__main__ import BENCHMARKS, main

# In a process of its own: some of the libraries that they import set environment variables.
_IMPORT = """
import importlib, sys
for name in sys.argv[1:]:
    assert callable(importlib.import_module(f"benchmarks.{name}").main), name
"""


def test_every_benchmark_can_be_imported():
    command = [sys.executable, "-c", _IMPORT, *BENCHMARKS]
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 0, done.stderr


def test_an_unknown_name_is_refused(capsys):
    assert main(["resnet"]) == 2
    assert "unknown benchmark 'resnet'" in capsys.readouterr().err
