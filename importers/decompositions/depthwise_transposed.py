"""Transposed convolutions of each channel on its own."""

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
    """A transposed convolution from each channel to one, as one that is not transposed.

    It runs over the input with zeros between its elements, with the kernel turned around.

    Args: as of `aten.convolution`; anything else is left as it is.
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
        # `constant_pad_nd` begins with the last dimension.
        amounts = [reach, reach + output_padding[axis], *amounts]
    x = torch.constant_pad_nd(x, amounts)
    kernel = weight.flip(list(range(2, x.dim())))
    none = [0] * rank
    return torch.ops.aten.convolution(
        x, kernel, bias, [1] * rank, none, dilation, False, none, groups
    )


def _spread(x: torch.Tensor, dim: int, distance: int) -> torch.Tensor:
    """`x` with its elements along `dim` that far apart, and zeros between."""
    if distance == 1:
        return x
    size = x.shape[dim]
    apart = x.unsqueeze(dim + 1)
    apart = torch.constant_pad_nd(apart, [0, 0] * (x.dim() - dim - 1) + [0, distance - 1])
    return apart.flatten(dim, dim + 1).narrow(dim, 0, (size - 1) * distance + 1)
