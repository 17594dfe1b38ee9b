"""Time and memory from a live model to linalg: unmess and torch_mlir.fx.export_and_import.

Each run is a separate process; the two sides alternate. Time is from the live model to the linalg
module, without imports and without building the model. Memory is the peak of the process.
torch-mlir's plain call fails on BERT because of buffers that are not in the state dict, so its
models get all buffers made persistent first.
"""

import json
import resource
import statistics
import subprocess
import sys
import time

import torch
from rich.console import Console
from rich.table import Table

RUNS = 3
MODELS = ("resnet18", "bert-base")
SIDES = ("unmess", "torch-mlir")


def build(model: str) -> tuple[torch.nn.Module, tuple, dict]:
    torch.manual_seed(0)
    if model == "resnet18":
        import torchvision

        return torchvision.models.resnet18().eval(), (torch.randn(1, 3, 224, 224),), {}
    import transformers

    ids = torch.randint(0, 30_000, (1, 128))
    inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    return transformers.BertModel(transformers.BertConfig()).eval(), (), inputs


def with_unmess(model: torch.nn.Module, args: tuple, kwargs: dict):
    import unmess

    return unmess.lower(unmess.capture(model, args, kwargs), to="linalg")


def with_torch_mlir(model: torch.nn.Module, args: tuple, kwargs: dict):
    from torch_mlir import fx

    return fx.export_and_import(model, *args, output_type="linalg-on-tensors", **kwargs)


def measure_here(side: str, model: str) -> dict[str, float]:
    """Runs one side in this process; returns seconds, and megabytes of weights and peak memory."""
    module, args, kwargs = build(model)
    if side == "torch-mlir":
        import torch_mlir.fx  # noqa: F401 -- not part of the time

        for layer in module.modules():
            layer._non_persistent_buffers_set.clear()
    else:
        import unmess

        unmess.capture  # noqa: B018 -- loads the library; not part of the time
    start = time.perf_counter()
    lowered = {"unmess": with_unmess, "torch-mlir": with_torch_mlir}[side](module, args, kwargs)
    seconds = time.perf_counter() - start
    del lowered
    weights = sum(p.numel() * p.element_size() for p in module.parameters())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {"seconds": seconds, "weights_mb": weights / 2**20, "peak_mb": peak / 2**10}


def measure(side: str, model: str) -> dict[str, float]:
    """Runs one side in a separate process."""
    command = [sys.executable, "-m", "benchmarks.import_speed", side, model]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return json.loads(output.splitlines()[-1])


def main() -> None:
    table = Table(title="live model to linalg, medians", title_justify="left")
    for column in ("model", "weights", "unmess", "torch-mlir", "ratio", "unmess peak", "its peak"):
        table.add_column(column, justify="left" if column == "model" else "right")
    for model in MODELS:
        runs = {side: [] for side in SIDES}
        for _ in range(RUNS):
            for side in SIDES:
                runs[side].append(measure(side, model))
        ours, theirs = (
            {key: statistics.median(run[key] for run in runs[side]) for key in runs[side][0]}
            for side in SIDES
        )
        table.add_row(
            model,
            f"{ours['weights_mb']:.0f} MB",
            f"{ours['seconds']:.2f} s",
            f"{theirs['seconds']:.2f} s",
            f"1/{theirs['seconds'] / ours['seconds']:.1f}",
            f"{ours['peak_mb']:.0f} MB",
            f"{theirs['peak_mb']:.0f} MB",
        )
    Console().print(table)


if __name__ == "__main__":
    if len(sys.argv) == 3:
        print(json.dumps(measure_here(*sys.argv[1:])))
    else:
        main()
