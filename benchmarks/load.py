"""Time to load a model for the first time and again: both runners, and Inductor.

Each load is in a process of its own. The first one has an empty cache, the second one the cache of
the first. On the runners, the captured program is lowered to linalg before, and both times are
given. Inductor's time is that of the first call of `torch.compile`'s result less that of a second
call; it captures and compiles. Libraries are imported before.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
import warnings

import torch

import unmess
from benchmarks.iree_models import model_of, seconds_of

MODELS = ("torchvision:resnet18", "torchvision:resnet50", "bert-base")
SIDES = ("reference", "iree-cpu", "Inductor")


def main() -> None:
    print(f"{torch.get_num_threads()} threads; seconds")
    heads = ("model", "side", "capture, lower to linalg", "load, first", "load, again")
    print(f"| {' | '.join(heads)} |\n|{' --- |' * len(heads)}")
    for model in MODELS:
        for side in SIDES:
            with tempfile.TemporaryDirectory() as folder:
                first, again = (_in_process(model, side, folder) for _ in range(2))
            before = f"{first['capture']:.1f}" if "capture" in first else ""
            cells = (model, side, before, f"{first['load']:.2f}", f"{again['load']:.2f}")
            print(f"| {' | '.join(cells)} |", flush=True)


def _in_process(model: str, side: str, folder: str) -> dict[str, float]:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.load", model, side],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        env={**os.environ, "UNMESS_CACHE": folder, "TORCHINDUCTOR_CACHE_DIR": folder},
    )
    return json.loads(done.stdout.splitlines()[-1])


@torch.no_grad()
def _measure(name: str, side: str) -> dict[str, float]:
    warnings.filterwarnings("ignore")
    torch.manual_seed(0)
    model, args, _ = model_of(name)
    model(*args)
    small, x = torch.nn.Linear(2, 2), torch.randn(1, 2)
    if side == "Inductor":
        torch.compile(small)(x)
        compiled = torch.compile(model)
        first, second = seconds_of(lambda: compiled(*args)), seconds_of(lambda: compiled(*args))
        return {"load": first - second}
    unmess.load(unmess.capture(small, (x,)), on=side)
    start = time.perf_counter()
    program = unmess.lower(unmess.capture(model, args), to="linalg")
    return {
        "capture": time.perf_counter() - start,
        "load": seconds_of(lambda: unmess.load(program, on=side)),
    }


if __name__ == "__main__":
    print(json.dumps(_measure(*sys.argv[1:])))
