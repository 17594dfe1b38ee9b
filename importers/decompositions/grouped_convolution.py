"""Grouped 3-d convolutions."""

from __future__ import annotations

import torch


def grouped_3d_convolution(
    x: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None,
    stride: list[int],
    padding: list[int],
    dilation: list[int],
    transposed: bool,
    output_padding: list[int],
    groups: int,
) -> torch.Tensor:
    """Computes a grouped 3-d convolution as a sum of grouped 2-d ones over the kernel's depth.

    Each position along the kernel's depth reads a strided selection of the input's frames, which
    are stacked into the batch of the 2-d convolution.

    The arguments are those of `aten.convolution`. Returns NotImplemented for other convolutions.
    """
    if transposed or groups == 1 or x.dim() != 5:
        return NotImplemented
    stride, padding, dilation = (_triple(v) for v in (stride, padding, dilation))
    batch, _, depth, height, width = x.shape
    x = torch.nn.functional.pad(x, (0, 0, 0, 0, padding[0], padding[0]))
    kernel_depth = weight.size(2)
    frames = (depth + 2 * padding[0] - dilation[0] * (kernel_depth - 1) - 1) // stride[0] + 1
    total = None
    for position in range(kernel_depth):
        start = position * dilation[0]
        seen = x[:, :, start : start + (frames - 1) * stride[0] + 1 : stride[0]]
        stacked = seen.transpose(1, 2).reshape(batch * frames, x.size(1), height, width)
        part = torch.ops.aten.convolution(
            stacked,
            weight[:, :, position],
            None,
            stride[1:],
            padding[1:],
            dilation[1:],
            False,
            [0, 0],
            groups,
        )
        total = part if total is None else total + part
    result = total.reshape(batch, frames, *total.shape[1:]).transpose(1, 2)
    return result if bias is None else result + bias.reshape(-1, 1, 1, 1)


def _triple(values: list[int]) -> list[int]:
    return list(values) * 3 if len(values) == 1 else list(values)
