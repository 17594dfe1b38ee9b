"""3x3 convolutions on the reference runner, by Winograd's algorithm and by plain sums, and eager.

The sides alternate. Errors are the largest difference from float64, relative to the largest result.
Pixels and filters are normally distributed.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from unittest import mock

import torch
from torch import nn

import unmess
from benchmarks.iree_models import in_a_row

# Images, channels and filters, and the length of the side of an image.
CASES = (
    (1, 16, 8),
    (1, 16, 128),
    (1, 32, 64),
    (1, 64, 14),
    (1, 64, 35),
    (1, 64, 56),
    (1, 128, 28),
    (1, 256, 14),
    (1, 256, 128),
    (1, 512, 7),
    (1, 512, 28),
    (8, 64, 56),
    (8, 512, 7),
)


def main() -> None:
    print(f"{torch.get_num_threads()} threads; milliseconds, errors")
    print("| images, channels, size | eager | plain | Winograd | Winograd / plain |")
    print(f"|{' --- |' * 5}", flush=True)
    for images, channels, size in CASES:
        _row(images, channels, size)


def _row(images: int, channels: int, size: int) -> None:
    torch.manual_seed(0)
    model = nn.Conv2d(channels, channels, 3, padding=1, bias=False).eval()
    x = torch.randn(images, channels, size, size)
    program = unmess.capture(model, (x,))
    calls = {"eager": model}
    # The key of a compiled program does not contain the choice.
    plain_sums = mock.patch("pipelines.reference.steps.winograd.is_faster", return_value=False)
    for side, choice in (("plain", plain_sums), ("Winograd", contextlib.nullcontext())):
        with tempfile.TemporaryDirectory() as folder, choice:
            os.environ["UNMESS_CACHE"] = folder
            calls[side] = unmess.load(program, on="reference")
    with torch.no_grad():
        exact = nn.functional.conv2d(x.double(), model.weight.double(), padding=1)
        errors = {
            side: ((call(x) - exact).abs().max() / exact.abs().max()).item()
            for side, call in calls.items()
        }
        seconds = in_a_row(calls, (x,))
    cells = [f"{1000 * seconds[side]:.3f}, {errors[side]:.0e}" for side in calls]
    ratio = f"{seconds['Winograd'] / seconds['plain']:.2f}"
    print(f"| {images}, {channels}, {size} | {' | '.join(cells)} | {ratio} |", flush=True)
