"""The reference runner beside eager PyTorch, one thread each, in one process.

For each model: the largest difference from eager relative to the largest value, the seconds from
linalg to an executable, and the medians of the two sides, which run in turn.
"""

import os
import statistics
import time
from collections.abc import Callable

import torch
from rich.console import Console
from rich.progress import track
from rich.table import Table
from torch import nn
from torch.utils import _pytree as pytree

import unmess

# Runs of each side: at least, and until this many seconds are over.
RUNS, SECONDS = 5, 2.0


class MatMul(nn.Module):
    def forward(self, a, b):
        return a @ b


def image_model(name: str):
    import torchvision

    model = torchvision.models.get_model(name)
    for parameter in model.parameters():
        if not parameter.any():
            # A head of zeros would hide every error.
            nn.init.normal_(parameter, std=0.02)
    return model, (torch.randn(1, 3, 224, 224),), {}


def encoder(config, tokens: int):
    import transformers

    ids = torch.randint(0, config.vocab_size, (1, tokens))
    inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    return transformers.BertModel(config), (), inputs


def bert_base():
    import transformers

    return encoder(transformers.BertConfig(), 128)


def minilm():
    """The shape of all-MiniLM-L6-v2, with random weights."""
    import transformers

    config = transformers.BertConfig(
        hidden_size=384, num_hidden_layers=6, num_attention_heads=12, intermediate_size=1536
    )
    return encoder(config, 128)


MODELS: dict[str, Callable[[], tuple[nn.Module, tuple, dict]]] = {
    **{
        name: lambda name=name: image_model(name)
        for name in (
            "resnet18",
            "resnet50",
            "mobilenet_v3_large",
            "efficientnet_b0",
            "vit_b_16",
            "swin_t",
        )
    },
    "bert-base, 1x128": bert_base,
    "MiniLM-L6, 1x128": minilm,
    "matmul, 4096x4096": lambda: (
        MatMul(),
        (torch.randn(4096, 4096), torch.randn(4096, 4096)),
        {},
    ),
    "softmax, 8192x8192": lambda: (nn.Softmax(-1), (torch.randn(8192, 8192),), {}),
    "layer norm, 8192x1024": lambda: (nn.LayerNorm(1024), (torch.randn(8192, 1024),), {}),
}


def measure(build: Callable[[], tuple[nn.Module, tuple, dict]]) -> dict[str, float]:
    """Relative error, seconds to load, median seconds of a run of each side."""
    torch.manual_seed(0)
    model, args, kwargs = build()
    model.eval()
    module = unmess.lower(unmess.capture(model, args, kwargs), to="linalg")
    start = time.perf_counter()
    run = unmess.load(module, on="reference")
    load = time.perf_counter() - start
    sides = {"reference": run, "eager": model}
    seconds: dict[str, list[float]] = {side: [] for side in sides}
    results = {}
    with torch.no_grad():
        for side, call in sides.items():
            results[side] = call(*args, **kwargs)
        end = time.perf_counter() + 2 * SECONDS
        while time.perf_counter() < end or len(seconds["eager"]) < RUNS:
            for side, call in sides.items():
                start = time.perf_counter()
                call(*args, **kwargs)
                seconds[side].append(time.perf_counter() - start)
    return {
        "error": _relative_error(results["reference"], results["eager"]),
        "load": load,
        **{side: statistics.median(times) for side, times in seconds.items()},
    }


def _relative_error(result, expected) -> float:
    errors = [
        ((a - b).abs().max() / b.abs().max()).item()
        for a, b in zip(pytree.tree_leaves(result), pytree.tree_leaves(expected), strict=True)
        if isinstance(b, torch.Tensor) and b.is_floating_point()
    ]
    return max(errors)


def main() -> None:
    os.environ["UNMESS_CACHE_MB"] = "0"
    torch.set_num_threads(1)
    table = Table("model", "relative error", "load", "reference", "eager", "ratio")
    for name in track(MODELS, console=Console(stderr=True)):
        figures = measure(MODELS[name])
        table.add_row(
            name,
            f"{figures['error']:.0e}",
            f"{figures['load']:.1f} s",
            f"{figures['reference'] * 1e3:.1f} ms",
            f"{figures['eager'] * 1e3:.1f} ms",
            f"{figures['reference'] / figures['eager']:.2f}",
        )
    Console().print(table)


if __name__ == "__main__":
    main()
