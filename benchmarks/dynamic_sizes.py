"""Layers and models of dynamic size on iree-cpu: the default preset, plain, and eager PyTorch.

The height and width of images, the length of lines, and the number of tokens are dynamic. Every
result is compared with eager PyTorch.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections.abc import Callable

import torch
from torch import nn

import unmess
from benchmarks.iree_models import difference_of, model_of

# The module, the shape of its input, and its dynamic axes.
LAYERS = {
    "Conv2d(64, 64, 3)": (nn.Conv2d(64, 64, 3, padding=1), (1, 64, 56, 56), (2, 3)),
    "Conv2d(64, 128, 3, stride=2)": (
        nn.Conv2d(64, 128, 3, stride=2, padding=1),
        (1, 64, 56, 56),
        (2, 3),
    ),
    "Conv2d(3, 64, 7, stride=2)": (nn.Conv2d(3, 64, 7, 2, 3), (1, 3, 224, 224), (2, 3)),
    "Conv2d(64, 256, 1)": (nn.Conv2d(64, 256, 1), (1, 64, 56, 56), (2, 3)),
    "Conv1d(64, 64, 3)": (nn.Conv1d(64, 64, 3, padding=1), (1, 64, 2000), (2,)),
    "Conv1d(32, 32, 11, dilation=5)": (
        nn.Conv1d(32, 32, 11, dilation=5, padding=25),
        (1, 32, 8000),
        (2,),
    ),
    "ConvTranspose1d(64, 32, 16, stride=8)": (
        nn.ConvTranspose1d(64, 32, 16, stride=8, padding=4),
        (1, 64, 500),
        (2,),
    ),
    "Linear(512, 512)": (nn.Linear(512, 512), (400, 512), (0,)),
    "TransformerEncoderLayer(256)": (
        nn.TransformerEncoderLayer(256, 4, 512, batch_first=True),
        (1, 200, 256),
        (1,),
    ),
}
# Models of the other benchmarks, and the dynamic axes of their first argument.
MODELS = {
    "torchvision:resnet18": (2, 3),
    "torchvision:mobilenet_v3_large": (2, 3),
    "bert-base": (1,),
}
SIDES = ("plain", "default")
TURNS, CALLS = 3, 9


def main() -> None:
    print(f"{torch.get_num_threads()} threads")
    print("| program | eager, ms | plain, ms | default, ms | plain / default | default / eager |")
    print("| --- | --- | --- | --- | --- | --- |", flush=True)
    with tempfile.TemporaryDirectory() as folder, torch.no_grad():
        os.environ["UNMESS_CACHE"] = folder
        for name, (layer, shape, axes) in LAYERS.items():
            _print(name, layer.eval(), torch.randn(shape), axes)
        for name, axes in MODELS.items():
            model, (example,), _ = model_of(name)
            _print(name, model, example, axes)


def _print(name: str, model: nn.Module, x: torch.Tensor, axes: tuple[int, ...]) -> None:
    sizes = (dict.fromkeys(axes, torch.export.Dim.AUTO),)
    program = unmess.capture(model, (x,), dynamic_shapes=sizes)
    plain = unmess.TargetOptions(preset="plain")
    calls = {
        "eager": model,
        "plain": unmess.load(program, on="iree-cpu", target=plain),
        "default": unmess.load(program, on="iree-cpu"),
    }
    expected = model(x)
    for side in SIDES:
        difference = difference_of(calls[side](x), expected)
        if not difference < 1e-3:
            raise SystemExit(f"{side} of {name} differs from eager by {difference:.1e}")
    times = {side: statistics.median(own) for side, own in _by_turns(calls, x).items()}
    cells = [f"{times[side] * 1e3:.2f}" for side in calls]
    ratios = times["plain"] / times["default"], times["default"] / times["eager"]
    print(f"| {name} | {' | '.join(cells)} | {ratios[0]:.1f} | {ratios[1]:.2f} |", flush=True)


def _by_turns(calls: dict[str, Callable], x: torch.Tensor) -> dict[str, list[float]]:
    """Returns the seconds of each call.

    The sides alternate after several calls: threads of eager PyTorch use a core for some time after
    a call, which slows down the first call of another side.
    """
    times: dict[str, list[float]] = {side: [] for side in calls}
    for _ in range(TURNS):
        for side, call in calls.items():
            for _ in range(CALLS):
                start = time.perf_counter()
                call(x)
                times[side].append(time.perf_counter() - start)
    return times


if __name__ == "__main__":
    torch.manual_seed(0)
    main()
