"""The reference runner and eager PyTorch, with one thread each, in one process.

For each model: the largest difference from eager relative to the largest value; the seconds from
linalg to an executable, compiled and from the cache; the median seconds of the two sides, which
alternate; and the peak memory of a call beyond weights and arguments.
"""

import os
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from rich.console import Console
from rich.progress import track
from rich.table import Table
from torch import nn
from torch.utils import _pytree as pytree

import unmess
from benchmarks.peak_memory import peak_memory

# The minimum number of runs and of seconds for each side.
RUNS, SECONDS = 5, 2.0


@dataclass
class Sides:
    """The two sides of a measurement.

    Attributes:
        program: the program for the reference runner.
        reference: calls the Executable that it receives.
        eager: does the same in PyTorch. Both return the same tensors.
    """

    program: Any
    reference: Callable[[Any], Any]
    eager: Callable[[], Any]


class MatMul(nn.Module):
    def forward(self, a, b):
        return a @ b


def forward(model: nn.Module, *args, **kwargs) -> Sides:
    model.eval()
    return Sides(
        unmess.capture(model, args, kwargs),
        lambda run: run(*args, **kwargs),
        lambda: model(*args, **kwargs),
    )


def image_model(name: str) -> Sides:
    import torchvision

    model = torchvision.models.get_model(name)
    for parameter in model.parameters():
        if not parameter.any():
            # A head of zeros would hide all errors.
            nn.init.normal_(parameter, std=0.02)
    return forward(model, torch.randn(1, 3, 224, 224))


def encoder(tokens: int, **config) -> Sides:
    import transformers

    model = transformers.BertModel(transformers.BertConfig(**config))
    ids = torch.randint(0, model.config.vocab_size, (1, tokens))
    return forward(model, input_ids=ids, attention_mask=torch.ones_like(ids))


def decode_step() -> Sides:
    """A decoding step after 128 tokens, of a model with the shape of SmolLM2-135M."""
    import transformers

    config = transformers.LlamaConfig(
        vocab_size=49152,
        hidden_size=576,
        intermediate_size=1536,
        num_hidden_layers=30,
        num_attention_heads=9,
        num_key_value_heads=3,
        max_position_embeddings=8192,
        tie_word_embeddings=True,
    )
    model = transformers.LlamaForCausalLM(config).eval()
    programs = unmess.capture_generation(model, batch=1, max_length=256)
    prompt, token = torch.randint(0, config.vocab_size, (1, 128)), torch.tensor([[7]])
    eager_cache = model(prompt, use_cache=True).past_key_values
    caches: dict[int, Any] = {}

    def reference(run):
        if id(run) not in caches:
            caches[id(run)] = run.prefill(prompt, programs["prefill"].args[1])[1]
        return run.decode(token, caches[id(run)])[0]

    def eager():
        logits = model(token, past_key_values=eager_cache, use_cache=True).logits[:, -1]
        eager_cache.crop(-1)
        return logits

    return Sides(programs, reference, eager)


MODELS: dict[str, Callable[[], Sides]] = {
    **{
        name: partial(image_model, name)
        for name in (
            "resnet18",
            "resnet50",
            "mobilenet_v3_large",
            "efficientnet_b0",
            "vit_b_16",
            "swin_t",
        )
    },
    "bert-base, 1x128": partial(encoder, 128),
    # The shape of all-MiniLM-L6-v2, with random weights.
    "MiniLM-L6, 1x128": partial(
        encoder,
        128,
        hidden_size=384,
        num_hidden_layers=6,
        num_attention_heads=12,
        intermediate_size=1536,
    ),
    "SmolLM2-135M, decode step": decode_step,
    "matmul, 4096x4096": lambda: forward(
        MatMul(), torch.randn(4096, 4096), torch.randn(4096, 4096)
    ),
    "softmax, 8192x8192": lambda: forward(nn.Softmax(-1), torch.randn(8192, 8192)),
    "layer norm, 8192x1024": lambda: forward(nn.LayerNorm(1024), torch.randn(8192, 1024)),
}


def measure(build: Callable[[], Sides]) -> dict[str, float]:
    """Returns the relative error, seconds to load, and median seconds and peak bytes by side."""
    torch.manual_seed(0)
    with torch.no_grad():
        sides = build()
        module = unmess.lower(sides.program, to="linalg")
        start = time.perf_counter()
        run = unmess.load(module, on="reference")
        load = time.perf_counter() - start
        start = time.perf_counter()
        unmess.load(module, on="reference")
        warm = time.perf_counter() - start
        calls = {"reference": partial(sides.reference, run), "eager": sides.eager}
        seconds: dict[str, list[float]] = {side: [] for side in calls}
        results = {side: call() for side, call in calls.items()}
        end = time.perf_counter() + 2 * SECONDS
        while time.perf_counter() < end or len(seconds["eager"]) < RUNS:
            for side, call in calls.items():
                start = time.perf_counter()
                call()
                seconds[side].append(time.perf_counter() - start)
        peaks = {side: peak_memory(call) for side, call in calls.items()}
    return {
        "error": _relative_error(results["reference"], results["eager"]),
        "load": load,
        "warm": warm,
        **{f"{side} peak": peak for side, peak in peaks.items()},
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
    torch.set_num_threads(1)
    table = Table(
        *("model", "relative error", "load", "warm", "reference", "eager", "ratio"),
        *("peak", "eager's", "ratio"),
    )
    with tempfile.TemporaryDirectory() as empty:
        os.environ["UNMESS_CACHE"] = empty
        _fill(table)
    # Use a wide console for files, so that rich does not wrap the table.
    console = Console()
    (console if console.is_terminal else Console(width=200)).print(table)


def _fill(table: Table) -> None:
    for name in track(MODELS, console=Console(stderr=True)):
        figures = measure(MODELS[name])
        table.add_row(
            name,
            f"{figures['error']:.0e}",
            f"{figures['load']:.1f} s",
            f"{figures['warm']:.2f} s",
            f"{figures['reference'] * 1e3:.1f} ms",
            f"{figures['eager'] * 1e3:.1f} ms",
            f"{figures['reference'] / figures['eager']:.2f}",
            f"{figures['reference peak'] / 2**20:.1f} MB",
            f"{figures['eager peak'] / 2**20:.1f} MB",
            f"{figures['reference peak'] / figures['eager peak']:.2f}",
        )


if __name__ == "__main__":
    main()
