"""Closed, full and broken output streams: the exit status, and an error if stderr works."""

import subprocess
import sys

import pytest

COMMAND = f"{sys.executable} -m unmess"


@pytest.mark.parametrize(
    ("line", "status"),
    [
        ("{} models > /dev/full", 2),
        ("{} models --json > /dev/full", 2),
        ("{} --help > /dev/full", 2),
        ("{} models >&-", 0),
        ("{} import nowhere.py 2> /dev/full", 2),
        ("{} import nowhere.py 2>&-", 2),
        ("{} check --nothing 2> /dev/full", 2),
    ],
)
def test_streams_that_cannot_be_written(line, status):
    done = subprocess.run(
        ["bash", "-c", line.format(COMMAND)], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == status
    assert done.stdout == ""
    cause = "usage: cannot write to stdout: No space left on device"
    assert done.stderr.splitlines()[:1] == ([cause] if "> /dev/full" in line[:30] else [])


@pytest.mark.parametrize("arguments", ["repairs", "models", "models --json", "--help"])
def test_a_closed_pipe_ends_quietly_with_sigpipe_status(arguments):
    line = f"{COMMAND} {arguments} | true; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, timeout=120)
    assert (done.stdout, done.stderr) == ("141\n", "")
