"""Time of `unmess.load` for a captured model in a new process, with an empty and a filled cache.

PyTorch uses one thread. CPU time includes child processes.
"""

import json
import os
import subprocess
import sys
import tempfile

from rich.console import Console
from rich.table import Table

MODELS, RUNNERS = ("ResNet-18", "BERT-base"), ("reference", "iree-cpu")
_LOAD = """
import importlib, json, os, sys, time
import torch
import unmess

torch.set_num_threads(1)
model, runner = sys.argv[1:]
if model == "ResNet-18":
    program = unmess.capture("torchvision:resnet18")
else:
    import transformers

    torch.manual_seed(0)
    bert = transformers.BertModel(transformers.BertConfig()).eval()
    ids = torch.ones(1, 128, dtype=torch.int64)
    program = unmess.capture(bert, (), {"input_ids": ids, "attention_mask": ids.clone()})
# Libraries are imported once in a process, whatever is loaded.
package = "reference" if runner == "reference" else "iree"
importlib.import_module(f"pipelines.{package}.executable")
cpu, start = sum(os.times()[:4]), time.perf_counter()
run = unmess.load(program, on=runner)
seconds = time.perf_counter() - start
print(json.dumps({"cpu": sum(os.times()[:4]) - cpu, "clock": seconds, "steps": run.seconds}))
"""


def main() -> None:
    table = Table(
        "model", "runner", "first: CPU", "clock", "again: CPU", "clock", "of which import"
    )
    for model in MODELS:
        for runner in RUNNERS:
            with tempfile.TemporaryDirectory() as folder:
                first, again = (_load(model, runner, folder) for _ in range(2))
            figures = (first["cpu"], first["clock"], again["cpu"], again["clock"])
            imported = again["steps"]["import"]
            table.add_row(model, runner, *(f"{s:.2f} s" for s in (*figures, imported)))
    Console(width=120).print(table)


def _load(model: str, runner: str, folder: str) -> dict:
    done = subprocess.run(
        [sys.executable, "-c", _LOAD, model, runner],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "UNMESS_CACHE": folder},
    )
    return json.loads(done.stdout.splitlines()[-1])
