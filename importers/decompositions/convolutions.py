"""Convolutions that torch-mlir does not lower, or to slow code, by others."""

from __future__ import annotations

import torch


def grouped_1d_convolution(
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
    """Computes a grouped 1-d convolution as a 2-d one of images of height 1.

    The arguments are those of `aten.convolution`. Returns NotImplemented for other convolutions.
    """
    if transposed or groups == 1 or x.dim() != 3:
        return NotImplemented
    stride, padding, dilation = _per_axis(1, stride, padding, dilation)
    result = torch.ops.aten.convolution(
        x.unsqueeze(2),
        weight.unsqueeze(2),
        bias,
        [1, *stride],
        [0, *padding],
        [1, *dilation],
        False,
        [0, 0],
        groups,
    )
    return result.squeeze(2)


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
    stride, padding, dilation = _per_axis(3, stride, padding, dilation)
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


def _per_axis(rank: int, *parameters: list[int]) -> list[list[int]]:
    """Returns each parameter with a value per axis. Repeats a single value for all `rank` axes."""
    return [list(each) * rank if len(each) == 1 else list(each) for each in parameters]


def depthwise_transposed_convolution(
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
    """Computes a depthwise transposed convolution by a convolution that is not transposed.

    It inserts zeros between the elements of the input and flips the kernel.

    The arguments are those of `aten.convolution`. Returns NotImplemented for other convolutions.
    """
    one_each = groups == x.shape[1] and weight.shape[1] == 1
    if not transposed or groups == 1 or not one_each:
        return NotImplemented
    rank = x.dim() - 2
    stride, padding, dilation, output_padding = _per_axis(
        rank, stride, padding, dilation, output_padding
    )
    amounts: list[int] = []
    for axis in range(rank):
        dim = axis + 2
        x = _spread(x, dim, stride[axis])
        reach = dilation[axis] * (weight.shape[dim] - 1) - padding[axis]
        # `constant_pad_nd` starts with the last dimension.
        amounts = [reach, reach + output_padding[axis], *amounts]
    x = torch.constant_pad_nd(x, amounts)
    kernel = weight.flip(list(range(2, x.dim())))
    none = [0] * rank
    return torch.ops.aten.convolution(
        x, kernel, bias, [1] * rank, none, dilation, False, none, groups
    )


def _spread(x: torch.Tensor, dim: int, distance: int) -> torch.Tensor:
    """Inserts `distance` - 1 zeros between the elements of `x` along `dim`."""
    if distance == 1:
        return x
    size = x.shape[dim]
    apart = x.unsqueeze(dim + 1)
    apart = torch.constant_pad_nd(apart, [0, 0] * (x.dim() - dim - 1) + [0, distance - 1])
    return apart.flatten(dim, dim + 1).narrow(dim, 0, (size - 1) * distance + 1)


def cropped_transposed_convolution(
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
    """Computes a transposed convolution without padding, crops the result and adds the bias.

    The arguments are those of `aten.convolution`. Returns NotImplemented for other convolutions,
    and if no padding reaches into the input.
    """
    if not transposed:
        return NotImplemented
    rank = x.dim() - 2
    padding, dilation, output_padding = _per_axis(rank, padding, dilation, output_padding)
    added = [dilation[axis] * (weight.shape[axis + 2] - 1) for axis in range(rank)]
    if all(cut <= grown for cut, grown in zip(padding, added, strict=True)):
        return NotImplemented
    none = [0] * rank
    whole = torch.ops.aten.convolution(x, weight, None, stride, none, dilation, True, none, groups)
    # `constant_pad_nd` starts with the last dimension.
    amounts = [
        amount
        for cut, more in zip(reversed(padding), reversed(output_padding), strict=True)
        for amount in (-cut, more - cut)
    ]
    result = torch.constant_pad_nd(whole, amounts)
    return result if bias is None else result + bias.reshape(-1, *[1] * rank)


def conv_tbc(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, pad: int = 0
) -> torch.Tensor:
    """Computes a 1-d convolution along the first dimension.

    Args:
        x: (time, batch, channels).
        weight: (kernel size, channels, output channels).
        bias: (output channels).
        pad: zeros before and after the sequence.

    Returns:
        (time, batch, output channels).
    """
    found = torch.nn.functional.conv1d(x.permute(1, 2, 0), weight.permute(2, 1, 0), bias, 1, pad)
    return found.permute(2, 0, 1)
