"""`unmess matrix`: a crash costs one cell, and an interrupted run goes on where it stopped."""

import json
import os
import signal
import time
from pathlib import Path

import pytest

BACKENDS = Path(__file__).parents[1] / "shared" / "failing_backends.py"
MODELS = """
import ctypes
import os
import pathlib
import time

import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.softmax(x @ x, -1)


class Square(torch.nn.Module):
    def forward(self, x):
        return x * x


class Crash(torch.nn.Module):
    def forward(self, x):
        ctypes.string_at(0)
        return x


def crash():
    return Crash(), (torch.randn(4, 4),)


def square():
    return Square().eval(), (torch.randn(4, 4),)


def good():
    here = pathlib.Path(__file__).parent
    (here / "begun").touch()
    # The first run is interrupted while this waits.
    while not (here / "go").exists():
        time.sleep(0.05)
    return Model().eval(), (torch.randn(4, 4),)
"""


def command(tmp_path):
    models = (f"--models={tmp_path / 'net.py'}:{name}" for name in ("crash", "good"))
    options = ["--on=reference", "--via=linalg", "--jobs=1", "-o", str(tmp_path / "out")]
    return ["matrix", *models, *options]


def rows(tmp_path):
    return [json.loads(line) for line in (tmp_path / "out" / "rows.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_run_goes_on_where_it_stopped(tmp_path, unmess_command, number):
    (tmp_path / "net.py").write_text(MODELS)
    messages = tmp_path / "messages"
    with messages.open("w") as file:
        output = {"stdout": file.fileno(), "stderr": file.fileno()}
        with unmess_command.start(*command(tmp_path), **output) as run:
            deadline = time.monotonic() + 300
            while not (tmp_path / "begun").exists():
                assert time.monotonic() < deadline, messages.read_text()
                with pytest.raises(TimeoutError):
                    run.wait(0.05)
            os.killpg(run.pid, number)
            status = run.wait(60)
    if number == signal.SIGINT:
        assert status == 130
        hint = "interrupted: 1 of 2 cells are finished; run it again to go on"
        assert hint in messages.read_text()
    else:
        assert status == -signal.SIGKILL
    crash, *others = rows(tmp_path)
    assert not others and crash["model"].endswith(":crash")
    assert (crash["stage"], crash["ok"]) == ("capture", False)
    assert "SIGSEGV" in crash["error"] and crash["peak_rss_mb"] > 0

    (tmp_path / "go").touch()
    done = unmess_command(*command(tmp_path))
    assert "1 of 2 cells are in" in done.stderr, done.stderr
    again, good = rows(tmp_path)
    assert again == crash
    assert good["model"].endswith(":good") and good["ok"] and good["via"] == "linalg"
    assert {"capture", "run", "eager"} <= good["seconds"].keys()
    assert "aten.mm.default" in good["operators"] and good["versions"]["torch"]
    # The highest status of all cells, as for `unmess check`. Here it is that of the crash.
    assert done.returncode == 3
    assert done.stdout.startswith("reference via linalg: 1 of 2 match eager")

    complete = unmess_command(*command(tmp_path), "--json")
    assert "2 of 2 cells are in" in complete.stderr
    assert [row["ok"] for row in json.loads(complete.stdout)] == [False, True]
    assert len(rows(tmp_path)) == 2


def test_a_crash_and_a_hang_of_a_backend_cost_one_cell_each(tmp_path, unmess_command):
    file = tmp_path / "net.py"
    file.write_text(MODELS)
    crash, hang = (f"{BACKENDS}:{name}" for name in ("Crash", "Hang"))
    done = unmess_command(
        *("matrix", "--models", f"{file}:square", "--on", f"{crash},{hang},reference"),
        *("--via", "default,linalg", "--timeout", "8", "-o", str(tmp_path / "out"), "--json"),
    )
    assert done.returncode == 3, done.stderr
    found = {(row["runner"], row["via"]): row for row in json.loads(done.stdout)}
    assert len(found) == len(rows(tmp_path)) == 6
    crashed, hung = found[crash, None], found[hang, None]
    assert crashed["stage"] == "compile" and "SIGSEGV" in crashed["error"]
    assert "net.py:square" in (tmp_path / "out" / crashed["repro"]).read_text()
    assert hung["stage"] == "run" and "timed out after 8 s" in hung["error"]
    # The cells that follow run in another worker.
    assert found["reference", None]["ok"] and found["reference", "linalg"]["ok"]
    # These backends take the torch dialect only.
    assert not found[crash, "linalg"]["ok"] and "SIG" not in found[crash, "linalg"]["error"]
