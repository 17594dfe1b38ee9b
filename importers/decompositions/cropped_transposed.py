"""Transposed convolutions whose padding removes more elements than the kernel adds."""

from __future__ import annotations

import torch


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
    padding, dilation, output_padding = (
        list(values) * rank if len(values) == 1 else list(values)
        for values in (padding, dilation, output_padding)
    )
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
