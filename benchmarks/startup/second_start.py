"""Second starts of commands on an unchanged model, compared with bare imports.

Goals: `run torchvision:resnet18` takes at most 1.3 times `import torch, torchvision`.
`run hf:FOLDER` and `generate` take at most 1.3 times `import torch` and reading the weights.
SmolLM2-135M prints its first token within 3 seconds.
"""

import tempfile
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.startup.by_turns import times_of
from tools.smollm2 import smollm2

_LIMIT = 1.3
_FIRST_TOKEN = 3.0
_READ = "import torch, pathlib; pathlib.Path({!r}).read_bytes()"


def main() -> None:
    gguf = str(smollm2())
    with tempfile.TemporaryDirectory() as folder:
        weights = _bert(folder)
        bare = {
            "torch": ("-c", "import torch"),
            "torchvision": ("-c", "import torch, torchvision"),
            "bert": ("-c", _READ.format(str(weights))),
            "gguf": ("-c", _READ.format(gguf)),
        }
        resnet = ("run", "torchvision:resnet18", "--repeat", "0")
        bert = ("run", f"hf:{folder}", "--repeat", "0")
        prompt = ("--prompt", "The capital of France is", "--max-new-tokens", "1")
        commands = {
            "run torchvision:resnet18": (resnet, "torchvision"),
            "run torchvision:resnet18 --on iree-cpu": (
                (*resnet, "--on", "iree-cpu"),
                "torchvision",
            ),
            "run hf:FOLDER": (bert, "bert"),
            "run hf:FOLDER --on iree-cpu": ((*bert, "--on", "iree-cpu"), "bert"),
            "generate, first token": (("generate", f"hf:{gguf}", *prompt), "gguf"),
        }
        lines = {name: ("-m", "unmess", *line, "-q") for name, (line, _) in commands.items()}
        seconds = times_of({**bare, **lines}, rounds=5)
    table = Table("second start", "seconds", "beside", "seconds", f"ratio (goal: {_LIMIT})")
    beside = {
        "torchvision": "import torch, torchvision",
        "bert": "import torch, read the weights",
        "gguf": f"import torch, read the weights; goal: {_FIRST_TOKEN} s",
    }
    for name, (_, unit) in commands.items():
        own, other = seconds[name], seconds[unit]
        ratio = f"{own / other:.2f}"
        table.add_row(name, f"{own:.2f}", beside[unit], f"{other:.2f}", ratio)
    Console(width=120).print(table)


def _bert(folder: str) -> Path:
    """Saves a BERT of 4 layers to a folder; returns the file of its weights."""
    import torch
    import transformers

    torch.manual_seed(0)
    config = transformers.BertConfig(hidden_size=256, num_hidden_layers=4, num_attention_heads=4)
    transformers.BertModel(config).save_pretrained(folder)
    return Path(folder, "model.safetensors")
