"""Tests that one process runs all tests of a group."""

import subprocess
import sys
from pathlib import Path

_TESTS = """
import os
import pytest

@pytest.mark.parametrize("case", range(12))
@pytest.mark.parametrize("group", [pytest.param(n, marks=pytest.mark.xdist_group(f"g {n}"))
                                   for n in range(4)])
def test(group, case):
    with open(f"processes_{group}", "a") as file:
        print(os.getpid(), file=file)
"""


def test_one_process_runs_a_group(tmp_path):
    conftest = Path(__file__).with_name("conftest.py").read_text()
    (tmp_path / "conftest.py").write_text(conftest)
    (tmp_path / "test_grouped.py").write_text(_TESTS)
    subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-n", "2", "--dist", "loadgroup", "."],
        cwd=tmp_path,
        check=True,
        timeout=60,
    )
    for group in range(4):
        processes = (tmp_path / f"processes_{group}").read_text().split()
        assert len(processes) == 12 and len(set(processes)) == 1
