"""IREE on the CPU with each preset, IREE's own defaults and eager PyTorch.

Runs `unmess tune` for three models, with a temporary cache folder for the tuned preset.
"""

import os
import statistics
import tempfile
import time

import torch
from rich.console import Console
from rich.table import Table

import unmess
from pipelines.iree.presets import preset_for

RUNS = 7


def main() -> None:
    table = Table("model", "preset", "run, ms", "times as fast as plain", "eager, ms", "default")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["UNMESS_CACHE"] = folder
        for name, model, args in _models():
            with torch.no_grad():
                program = unmess.capture(model, args)
                default = preset_for(unmess.lower(program))
                candidates = unmess.tune(program)
                eager = _eager(model, args)
            plain = next(c.seconds for c in candidates if c.preset == "plain")
            for candidate in candidates:
                seconds = candidate.seconds
                table.add_row(
                    name,
                    candidate.preset,
                    f"{seconds * 1e3:.1f}" if seconds else candidate.problem,
                    f"{plain / seconds:.2f}" if seconds else "",
                    f"{eager * 1e3:.1f}",
                    "yes" if candidate.preset == default else "",
                )
    Console(width=120).print(f"{torch.get_num_threads()} threads", table)


def _eager(model: torch.nn.Module, args: tuple[torch.Tensor, ...]) -> float:
    times = []
    for _ in range(RUNS + 1):
        start = time.perf_counter()
        model(*args)
        times.append(time.perf_counter() - start)
    return statistics.median(times[1:])


def _models():
    import torchvision
    import transformers

    image = torch.randn(1, 3, 224, 224)
    for name in ("resnet18", "mobilenet_v3_large"):
        yield name, getattr(torchvision.models, name)().eval(), (image,)
    bert = transformers.BertModel(transformers.BertConfig()).eval()
    yield "bert-base, 1 x 128", bert, (torch.randint(1000, 2000, (1, 128)),)
