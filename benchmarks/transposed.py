"""Strided transposed convolutions on both runners, by phase and with inserted zeros, and eager.

The sides alternate. `zeros` is torch-mlir's own lowering, without the step
`linalg-transposed-convolutions`. Each result is compared with eager's.
"""

from __future__ import annotations

import contextlib
from unittest import mock

import torch
from torch import nn

from benchmarks.rewrites import milliseconds, print_heading

# Channels, filters, the length of the side of the kernel, stride, padding, output padding, groups,
# and the sizes of the image.
CASES = (
    (64, 32, 2, 2, 0, 0, 1, (56, 56)),
    (256, 256, 2, 2, 0, 0, 1, (14, 14)),
    (512, 256, 4, 2, 1, 0, 1, (4, 4)),
    (128, 64, 4, 2, 1, 0, 1, (16, 16)),
    (64, 3, 4, 2, 1, 0, 1, (32, 32)),
    (128, 128, 3, 2, 1, 1, 1, (28, 28)),
    (256, 256, 3, 2, 1, 1, 8, (28, 28)),
    (64, 32, 16, 8, 4, 0, 1, (512,)),
    (512, 256, 16, 8, 4, 0, 1, (64,)),
    (128, 64, 4, 2, 1, 0, 1, (4096,)),
    (32, 16, 2, 2, 0, 0, 1, (8, 28, 28)),
    (32, 16, 3, 2, 1, 1, 1, (8, 28, 28)),
)
_LAYERS = {1: nn.ConvTranspose1d, 2: nn.ConvTranspose2d, 3: nn.ConvTranspose3d}


def main() -> None:
    print_heading(["channels, kernel, stride, groups; image"], ("zeros", "phases"))
    for case in CASES:
        _row(*case)


def _row(
    channels: int,
    filters: int,
    kernel: int,
    stride: int,
    padding: int,
    output_padding: int,
    groups: int,
    image: tuple[int, ...],
) -> None:
    torch.manual_seed(0)
    layer = _LAYERS[len(image)]
    model = layer(channels, filters, kernel, stride, padding, output_padding, groups).eval()
    x = torch.randn(1, channels, *image)
    times = milliseconds(model, (x,), _with_zeros)
    name = f"{channels}→{filters}, {kernel}, {stride}, {groups}; {'×'.join(map(str, image))}"
    print(f"| {name} | {' | '.join(times)} |", flush=True)


def _with_zeros() -> contextlib.AbstractContextManager[object]:
    return mock.patch(
        "pipelines.output_dialects.transposed_convolutions._by_phases", return_value=None
    )


if __name__ == "__main__":
    main()
