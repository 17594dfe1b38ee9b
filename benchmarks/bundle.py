"""Time from process start to the first result of ResNet-18: a bundle and eager PyTorch.

Each run is a separate process; the two sides alternate. The bundle runs in an environment without
PyTorch, and verifies the checksums of all its files. PyTorch loads the same weights from a file.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.peer_environment import bare_environment

RUNS = 9
_BUNDLE = """
import json, os, sys, time
start = time.perf_counter()
import numpy
steps = {"numpy": time.perf_counter()}
import unmess.bundle
steps["iree.runtime"] = time.perf_counter()
run = unmess.bundle.load(sys.argv[1])
steps["load"] = time.perf_counter()
run(numpy.zeros((1, 3, 224, 224), numpy.float32))
steps["call"] = time.perf_counter()
print(json.dumps({"start": start, "steps": steps, "cpu": sum(os.times()[:2])}), flush=True)
os._exit(0)
"""
_EAGER = """
import json, os, sys, time
start = time.perf_counter()
import torch
steps = {"torch": time.perf_counter()}
import torchvision
steps["torchvision"] = time.perf_counter()
model = torchvision.models.resnet18()
model.load_state_dict(torch.load(sys.argv[1], mmap=True), assign=True)
model.eval()
steps["load"] = time.perf_counter()
with torch.no_grad():
    model(torch.zeros(1, 3, 224, 224))
steps["call"] = time.perf_counter()
print(json.dumps({"start": start, "steps": steps, "cpu": sum(os.times()[:2])}), flush=True)
os._exit(0)
"""


def main() -> None:
    import torch

    import unmess

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        program = unmess.capture("torchvision:resnet18")
        unmess.package(program, folder / "bundle")
        torch.save(program.eager.state_dict(), folder / "weights.pt")
        python = bare_environment(folder / "bare")
        sides = {
            "bundle": [python, "-I", "-c", _BUNDLE, str(folder / "bundle")],
            "eager PyTorch": [sys.executable, "-c", _EAGER, str(folder / "weights.pt")],
        }
        measured = {side: [] for side in sides}
        for _ in range(RUNS):
            for side, command in sides.items():
                measured[side].append(_measure(command))
    table = Table("", "start to first result", "least", "CPU", "of which")
    for side, runs in measured.items():
        steps = ", ".join(
            f"{step} {statistics.median(run['steps'][step] for run in runs) * 1e3:.0f}"
            for step in runs[0]["steps"]
        )
        seconds = [run["seconds"] for run in runs]
        cpu = statistics.median(run["cpu"] for run in runs)
        table.add_row(
            side,
            f"{statistics.median(seconds):.2f} s",
            f"{min(seconds):.2f} s",
            f"{cpu:.2f} s",
            f"{steps} ms",
        )
    Console(width=140).print(table)


def _measure(command: list[str | Path]) -> dict:
    """Returns the seconds of each step, from the interpreter's start on; their sum; CPU seconds."""
    # `perf_counter` is the same clock in both processes.
    begin = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ)
    found = json.loads(done.stdout)
    steps, last = {"python": found["start"] - begin}, found["start"]
    for step, moment in found["steps"].items():
        steps[step], last = moment - last, moment
    return {"steps": steps, "seconds": last - begin, "cpu": found["cpu"]}
