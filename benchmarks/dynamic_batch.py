"""Classifiers with a dynamic batch on iree-cpu: the default preset and plain, alternating.

Every result is compared with eager PyTorch.
"""

from __future__ import annotations

import os
import tempfile

import torch

import unmess
from benchmarks.iree_models import by_turns, difference_of, model_of

MODELS = (
    "resnet18",
    "mobilenet_v3_large",
    "efficientnet_b0",
    "squeezenet1_1",
    "shufflenet_v2_x1_0",
    "googlenet",
    "regnet_y_400mf",
    "densenet121",
    "convnext_tiny",
)
COUNTS = (1, 8)
SIDES = ("plain", "default")


def main() -> None:
    print(f"{torch.get_num_threads()} threads")
    print("| model | images | eager, ms | plain, ms | default, ms | times as fast | in CPU time |")
    print("| --- | --- | --- | --- | --- | --- | --- |", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["UNMESS_CACHE"] = folder
        for name in MODELS:
            for row in _rows(name):
                print(f"| {name} | {' | '.join(row)} |", flush=True)


def _rows(name: str) -> list[list[str]]:
    model, (image,), _ = model_of(f"torchvision:{name}")
    example = image.expand(2, *image.shape[1:]).contiguous()
    batch = ({0: torch.export.Dim("batch", max=64)},)
    program = unmess.capture(model, (example,), dynamic_shapes=batch)
    plain = unmess.TargetOptions(preset="plain")
    calls = {
        "eager": model,
        "plain": unmess.load(program, on="iree-cpu", target=plain),
        "default": unmess.load(program, on="iree-cpu"),
    }
    rows = []
    for count in COUNTS:
        images = torch.randn(count, *image.shape[1:])
        with torch.no_grad():
            expected = model(images)
            for side in SIDES:
                difference = difference_of(calls[side](images), expected)
                if not difference < 1e-3:
                    raise SystemExit(f"{side} of {name} differs from eager by {difference:.1e}")
            times, cpu_times = by_turns(calls, (images,), {})
        milliseconds = [f"{times[side] * 1e3:.1f}" for side in calls]
        ratios = [f"{each['plain'] / each['default']:.2f}" for each in (times, cpu_times)]
        rows.append([str(count), *milliseconds, *ratios])
    return rows
