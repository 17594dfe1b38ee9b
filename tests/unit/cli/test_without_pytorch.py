"""Commands that do not need PyTorch do not import it, because that takes seconds.

Some of them also leave out what takes 0.05 s or more to import.
"""

import json
import subprocess
import sys

import pytest

FILES = {
    "linalg.mlir": """
func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  %b = arith.addf %a, %a : tensor<4xf32>
  return %b : tensor<4xf32>
}
""",
    "rows.jsonl": '{"model": "a.py", "runner": "reference", "ok": true, "stage": "done"}\n',
    "torch.mlir": """
func.func @main(%a: !torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32> {
  %b = torch.aten.tanh %a : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
  return %b : !torch.vtensor<[4],f32>
}
""",
}
# Command line and exit status.
COMMANDS = (
    ("--help", 0),
    ("--version", 0),
    ("check --help", 0),
    ("models", 0),
    ("models --source hf --json", 0),
    ("repairs", 0),
    ("repairs --json", 0),
    ("pipeline", 0),
    ("pipeline linalg", 0),
    ("cache ls", 0),
    ("targets", 0),
    ("portable linalg.mlir", 0),
    ("contract torch.mlir", 0),
    ("analyze torch.mlir --at linalg", 0),
    # Wrong model strings.
    ("run missing.py", 2),
    ("import missing.onnx", 2),
    ("package missing.pt2 -o out", 2),
    ("portable missing.mlir", 2),
    ("analyze torchvision:resnet81", 2),
    ("ops hf:berd", 2),
    ("generate hf:lama#generate --prompt x", 2),
    ("tune resnet18", 2),
    ("triage torchvision:resnet81", 2),
    ("view huggingface:bert", 2),
    # Wrong options.
    ("run torchvision:resnet18 --on tpu", 2),
    ("import torchvision:resnet18 --to C", 2),
    ("check torchvision:resnet18 --on tpu", 2),
    ("triage torchvision:resnet18 --on tpu", 2),
    ("check", 2),
    ("matrix --models hf:berd", 2),
    ("matrix --models tf:*", 2),
    ("matrix --on tpu", 2),
    ("matrix --via tossa", 2),
    ("matrix --shard 3/2", 2),
    ("matrix diff missing missing", 2),
    ("corpus --models hf:berd", 2),
    ("corpus --at tossa", 2),
    ("corpus --shard 3/2", 2),
    ("corpus verify missing", 2),
    ("report missing", 2),
    ("recipe --help", 0),
    ("recipe torchvision:resnet81", 2),
    ("recipe torchvision:resnet18 --on tpu", 2),
    ("recipe torchvision:resnet18 --via tossa", 2),
    ("recipe torchvision:resnet18 --dynamic x", 2),
    ("recipe torchvision:resnet18 --results missing", 2),
    ("recipe torchvision:resnet18 --results rows.jsonl", 2),
    ("recipe torchvision:resnet18 --results rows.jsonl --only fc", 2),
    ("recipe torchvision:resnet18 -o missing/page.md", 2),
    ("report rows.jsonl -o page.html", 0),
)
RUN = """
import json, sys
from unmess.__main__ import main
found = []
for text in json.loads(sys.argv[1]):
    status = main(text.split())
    imported = [name for name in ("torch", "transformers") if name in sys.modules]
    found.append([text, status, imported])
with open("found.json", "w") as file:
    json.dump(found, file)
"""


def test_pytorch_is_not_imported(tmp_path):
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    texts = [text for text, _ in COMMANDS]
    done = subprocess.run(
        [sys.executable, "-c", RUN, json.dumps(texts)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "found.json").read_text())
    assert [(text, status) for text, status, _ in found] == list(COMMANDS)
    assert [(text, modules) for text, _, modules in found if modules] == []


SLOW = ("numpy", "yaml", "importers.sources.models", "torch_mlir.dialects.linalg")
DIALECTS = tuple(f"torch_mlir.dialects.{name}" for name in ("arith", "func", "torch"))
IMPORTED = """
import json, sys
from unmess.__main__ import main
from unmess.cli import cli
status = main(sys.argv[1].split())
commands = [name for name in cli.commands if f"unmess.cli.{name}" in sys.modules]
with open("found.json", "w") as file:
    json.dump([status, commands, list(sys.modules)], file)
"""


@pytest.mark.parametrize(
    ("text", "slow"),
    [
        ("pipeline", (*SLOW, *DIALECTS, "rich.table")),
        ("cache ls", (*SLOW, *DIALECTS, "torch_mlir.ir", "rich.table")),
        ("targets", (*SLOW, *DIALECTS, "torch_mlir.ir")),
        ("contract torch.mlir", ("numpy", "yaml", *DIALECTS[:1], "rich.table")),
        ("portable linalg.mlir", ("numpy", "yaml", *DIALECTS[2:], "rich.table")),
    ],
)
def test_slow_modules_are_not_imported(tmp_path, text, slow):
    for name in ("torch.mlir", "linalg.mlir"):
        (tmp_path / name).write_text(FILES[name])
    done = subprocess.run(
        [sys.executable, "-c", IMPORTED, text], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    status, commands, modules = json.loads((tmp_path / "found.json").read_text())
    assert status == 0, done.stderr
    assert commands == [text.split()[0]]
    assert sorted(set(slow) & set(modules)) == []
