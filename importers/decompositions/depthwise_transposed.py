"""Depthwise transposed convolutions."""

from __future__ import annotations

import torch


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
    stride, padding, dilation, output_padding = (
        list(values) * rank if len(values) == 1 else list(values)
        for values in (stride, padding, dilation, output_padding)
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
