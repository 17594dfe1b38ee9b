"""Programs in compiled regions beside their two runners alone: eager PyTorch, and the backend.

The first table has ten models that compile as a whole. Denied operators divide them into regions:
one activation or normalization, which runs in eager PyTorch at every layer. The second table gives
the cost of a region's call: a program whose only work is the calls of small regions. The calls of
the sides alternate in one process per model, and every result is compared with eager PyTorch.
"""

from __future__ import annotations

import json
import subprocess
import sys

import torch

import unmess
from benchmarks.iree_models import by_turns, difference_of, model_of

# Models, and the operator that divides each.
MODELS = {
    "torchvision:resnet18": "aten::relu",
    "torchvision:resnet50": "aten::relu",
    "torchvision:mobilenet_v3_large": "aten::div",
    "torchvision:efficientnet_b0": "aten::silu",
    "torchvision:convnext_tiny": "aten::var_mean",
    "torchvision:vit_b_16": "aten::var_mean",
    "torchvision:swin_t": "aten::var_mean",
    "bert-base": "aten::var_mean",
    "gpt2": "aten::tanh",
    "all-MiniLM-L6-v2": "aten::var_mean",
}
RUNNERS = ("reference", "iree-cpu")
REGIONS = 64


def main() -> None:
    print(f"{torch.get_num_threads()} threads")
    print("| model | runner | denied | regions | eager, ms | whole, ms | divided, ms | ratio |")
    print(f"|{' --- |' * 8}", flush=True)
    for name in MODELS:
        for runner in RUNNERS:
            print(f"| {' | '.join((name, runner, *_in_process(name, runner)))} |", flush=True)
    print("\n| runner | regions | whole, µs | divided, µs | per region, µs |")
    print(f"|{' --- |' * 5}", flush=True)
    for runner in RUNNERS:
        print(f"| {' | '.join((runner, *_in_process('', runner)))} |", flush=True)


def _in_process(name: str, runner: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.partition", name, runner],
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise SystemExit(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def _model_row(name: str, runner: str) -> list[str]:
    """Returns the cells of a model: the ratio is to the slower one of eager and whole."""
    model, args, kwargs = model_of(name)
    calls, regions = _sides(model, args, kwargs, runner, MODELS[name])
    times, _ = by_turns(calls, args, kwargs)
    ratio = times["divided"] / max(times["eager"], times["whole"])
    cells = [f"{times[side] * 1e3:.1f}" for side in ("eager", "whole", "divided")]
    return [MODELS[name], str(regions), *cells, f"{ratio:.2f}"]


def _region_row(runner: str) -> list[str]:
    """Returns the cells of the program of small regions.

    The cost of a region is the difference between the divided and the whole program. It includes
    the call of the operator in eager PyTorch that follows the region.
    """
    x = torch.randn(8)
    calls, regions = _sides(_SmallRegions(), (x,), {}, runner, "aten::cos")
    times, _ = by_turns(calls, (x,), {})
    whole, divided = times["whole"] * 1e6, times["divided"] * 1e6
    return [str(regions), f"{whole:.0f}", f"{divided:.0f}", f"{(divided - whole) / regions:.1f}"]


class _SmallRegions(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for _ in range(REGIONS):
            x = ((x * 0.5 + 0.25) * x).cos()
        return x


def _sides(model, args, kwargs, runner, denied):
    """Returns the calls of the three sides, and the number of regions of the divided program."""
    program = unmess.capture(model, args, kwargs)
    calls = {
        "eager": model,
        "whole": unmess.load(program, on=runner, fallback="eager"),
        "divided": unmess.load(program, on=runner, fallback="eager", deny_ops=[denied]),
    }
    for side in ("whole", "divided"):
        difference = difference_of(calls[side](*args, **kwargs), model(*args, **kwargs))
        if not difference < 1e-3:
            raise SystemExit(f"{side} differs from eager by {difference:.1e}")
    (partition,) = calls["divided"].partitions.values()
    return calls, len(partition.regions)


if __name__ == "__main__":
    torch.manual_seed(0)
    with torch.no_grad():
        name, runner = sys.argv[1:]
        print(json.dumps(_model_row(name, runner) if name else _region_row(runner)))
