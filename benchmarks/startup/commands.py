"""Startup of commands that need no model, and of usage errors, compared with `import torch`.

Goal: each takes less than a quarter of the time of `python -c "import torch"`.
"""

import tempfile
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.startup.by_turns import times_of

_LIMIT = 1 / 4
_IR = """
func.func @main(%a: !torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32> {
  %b = torch.aten.tanh %a : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
  return %b : !torch.vtensor<[4],f32>
}
"""
_LINALG = """
func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  %b = arith.addf %a, %a : tensor<4xf32>
  return %b : tensor<4xf32>
}
"""
# Command lines and their exit status.
_COMMANDS = {
    "--help": 0,
    "models": 0,
    "repairs": 0,
    "pipeline": 0,
    "cache ls": 0,
    "targets": 0,
    "contract torch.mlir": 0,
    "portable linalg.mlir": 0,
    "run missing.py": 2,
    "run torchvision:resnet81": 2,
    "check hf:berd": 2,
    "import torchvision:resnet18 --to C": 2,
}


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "torch.mlir").write_text(_IR)
        Path(folder, "linalg.mlir").write_text(_LINALG)
        lines = {text: ("-m", "unmess", *text.split()) for text in _COMMANDS}
        commands = {"import torch": ("-c", "import torch"), **lines}
        seconds = times_of(commands, rounds=7, statuses=_COMMANDS, cwd=folder)
    unit = seconds["import torch"]
    table = Table("command", "seconds", f"of `import torch` (goal: under {_LIMIT})")
    for name, value in seconds.items():
        table.add_row(name, f"{value:.2f}", f"{value / unit:.2f}")
    Console(width=100).print(table)
