"""Implements `deform_conv2d` with plain tensor operators."""

from __future__ import annotations

import torch


def deform_conv2d(
    input: torch.Tensor,
    weight: torch.Tensor,
    offset: torch.Tensor,
    mask: torch.Tensor,
    bias: torch.Tensor,
    stride_h: int,
    stride_w: int,
    pad_h: int,
    pad_w: int,
    dilation_h: int,
    dilation_w: int,
    groups: int,
    offset_groups: int,
    use_mask: bool,
) -> torch.Tensor:
    """Computes `torch.ops.torchvision.deform_conv2d`.

    Args:
        input: f32 `[n, c, h, w]`.
        weight: f32 `[d, c / groups, kh, kw]`.
        offset: f32 `[n, 2·offset_groups·kh·kw, oh, ow]`, vertical and horizontal alternating.
        mask: f32 `[n, offset_groups·kh·kw, oh, ow]`, if `use_mask`.

    Returns:
        f32 `[n, d, oh, ow]`.
    """
    batch, channels, height, width = input.shape
    out_channels, _, rows, columns = weight.shape
    out_h, out_w = offset.shape[2:]
    taps = rows * columns
    # [n, offset groups, taps, 2, oh, ow]
    shifts = offset.reshape(batch, offset_groups, taps, 2, out_h, out_w)
    tap = torch.arange(taps)
    top = (torch.arange(out_h) * stride_h - pad_h)[:, None]
    left = (torch.arange(out_w) * stride_w - pad_w)[None, :]
    y = shifts[:, :, :, 0] + (top + (tap // columns * dilation_h)[:, None, None])
    x = shifts[:, :, :, 1] + (left + (tap % columns * dilation_w)[:, None, None])
    y_low, x_low = torch.floor(y), torch.floor(x)
    # [n·offset groups·h·w, c / offset groups]
    depth = channels // offset_groups
    pixels = input.reshape(batch, offset_groups, depth, height, width).permute(0, 1, 3, 4, 2)
    table = pixels.reshape(batch * offset_groups * height * width, depth)
    image = torch.arange(batch * offset_groups).reshape(batch, offset_groups, 1, 1, 1)
    sampled = 0
    for row, row_weight in ((y_low, 1 - (y - y_low)), (y_low + 1, y - y_low)):
        for column, column_weight in ((x_low, 1 - (x - x_low)), (x_low + 1, x - x_low)):
            inside = (row >= 0) & (row < height) & (column >= 0) & (column < width)
            scale = torch.where(inside, row_weight * column_weight, 0.0)
            down = row.clamp(0, height - 1).to(torch.int64)
            right = column.clamp(0, width - 1).to(torch.int64)
            index = (image * height + down) * width + right
            values = table.index_select(0, index.reshape(-1)).reshape(*index.shape, depth)
            sampled = sampled + scale.unsqueeze(-1) * values
    if use_mask:
        sampled = sampled * mask.reshape(batch, offset_groups, taps, out_h, out_w, 1)
    # [n, groups, c / groups · taps, oh · ow], in the order of the weight of each group.
    terms = channels // groups * taps
    unrolled = sampled.permute(0, 1, 5, 2, 3, 4).reshape(batch, groups, terms, out_h * out_w)
    kernels = weight.reshape(1, groups, out_channels // groups, terms)
    result = (kernels @ unrolled).reshape(batch, out_channels, out_h, out_w)
    return result + bias[:, None, None]
