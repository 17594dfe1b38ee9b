"""Lowerings of convolutions."""

from __future__ import annotations

import itertools

import torch
import torch.nn.functional as F

from importers.onnx.node import Node
from importers.onnx.operators.matrices import unfolded_zero_point
from importers.onnx.registry import operator

Tensor = torch.Tensor
_CONVOLUTIONS = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}
_TRANSPOSED = {1: F.conv_transpose1d, 2: F.conv_transpose2d, 3: F.conv_transpose3d}


def window_pads(node: Node, x: Tensor, kernel: list[int]) -> list[tuple[int, int]]:
    """Returns the padding before and after each spatial axis, from `pads` or `auto_pad`."""
    rank = len(kernel)
    strides = node.get("strides") or [1] * rank
    dilations = node.get("dilations") or [1] * rank
    how = node.get("auto_pad", "NOTSET")
    if how == "VALID":
        return [(0, 0)] * rank
    if how == "NOTSET":
        pads = node.get("pads") or [0] * (2 * rank)
        return [(pads[i], pads[i + rank]) for i in range(rank)]
    found = []
    for i, size in enumerate(x.shape[2:]):
        reach = dilations[i] * (kernel[i] - 1) + 1
        total = max((-(-size // strides[i]) - 1) * strides[i] + reach - size, 0)
        small, large = total // 2, total - total // 2
        found.append((small, large) if how == "SAME_UPPER" else (large, small))
    return found


def padded(x: Tensor, pads: list[tuple[int, int]], value: float = 0) -> Tensor:
    """Pads the spatial axes of a tensor; negative widths crop."""
    widths = list(itertools.chain.from_iterable(reversed(pads)))
    return F.pad(x, widths, value=value) if any(widths) else x


@operator("Conv")
def conv(node: Node, x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Lowers `Conv`, with groups, strides, dilations and any padding."""
    rank = x.dim() - 2
    if rank not in _CONVOLUTIONS:
        raise node.refuse(f"with {rank} spatial dimensions")
    pads = window_pads(node, x, list(weight.shape[2:]))
    even = all(before == after for before, after in pads)
    return _CONVOLUTIONS[rank](
        x if even else padded(x, pads),
        weight,
        bias,
        stride=node.get("strides") or 1,
        padding=[before for before, _ in pads] if even else 0,
        dilation=node.get("dilations") or 1,
        groups=node.get("group", 1),
    )


@operator("ConvInteger")
def conv_integer(
    node: Node,
    x: Tensor,
    weight: Tensor,
    x_zero: Tensor | None = None,
    w_zero: Tensor | None = None,
) -> Tensor:
    """Lowers `ConvInteger`: convolves 8-bit integers, to int32."""
    return integer_convolution(node, x, weight, x_zero, w_zero)


def integer_convolution(
    node: Node, x: Tensor, weight: Tensor, x_zero: Tensor | None, w_zero: Tensor | None
) -> Tensor:
    """Convolves differences from zero points, to int32."""
    # Products of 9-bit numbers and their sums are exact in float64.
    x = (x.to(torch.int32) - unfolded_zero_point(x_zero, x.dim(), 1)).to(torch.float64)
    weight = weight.to(torch.int32) - unfolded_zero_point(w_zero, weight.dim(), 0)
    return conv(node, x, weight.to(torch.float64)).to(torch.int32)


@operator("ConvTranspose")
def conv_transpose(node: Node, x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Lowers `ConvTranspose`, cropped or padded to the requested shape."""
    rank = x.dim() - 2
    if rank not in _TRANSPOSED:
        raise node.refuse(f"with {rank} spatial dimensions")
    strides = node.get("strides") or [1] * rank
    dilations = node.get("dilations") or [1] * rank
    extra = node.get("output_padding") or [0] * rank
    pads = node.get("pads") or [0] * (2 * rank)
    whole = _TRANSPOSED[rank](
        x, weight, None, stride=strides, dilation=dilations, groups=node.get("group", 1)
    )
    how, wanted = node.get("auto_pad", "NOTSET"), node.get("output_shape")
    for i in range(rank):
        size = whole.shape[2 + i]
        if wanted is not None or how in ("SAME_UPPER", "SAME_LOWER"):
            final = wanted[-rank + i] if wanted is not None else x.shape[2 + i] * strides[i]
            total = size + extra[i] - final
            # If the result is too small, pad at the end.
            large = total - total // 2 if total > 0 else 0
            before = total // 2 if how == "SAME_UPPER" and total > 0 else large
            after = total - before
        else:
            before, after = (0, 0) if how == "VALID" else (pads[i], pads[i + rank])
        cut = [(0, 0)] * rank
        cut[i] = (-before, extra[i] - after)
        whole = padded(whole, cut)
    if bias is not None:
        whole = whole + bias.reshape(-1, *[1] * rank)
    return whole


@operator("DeformConv")
def deform_conv(
    node: Node,
    x: Tensor,
    weight: Tensor,
    offset: Tensor,
    bias: Tensor | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Lowers `DeformConv` with torchvision's `deform_conv2d`."""
    from torchvision.ops import deform_conv2d

    if x.dim() != 4:
        raise node.refuse(f"with {x.dim() - 2} spatial dimensions")
    pads = window_pads(node, x, list(weight.shape[2:]))
    even = all(before == after for before, after in pads)
    return deform_conv2d(
        x if even else padded(x, pads),
        offset,
        weight,
        bias,
        stride=tuple(node.get("strides") or (1, 1)),
        padding=tuple(before for before, _ in pads) if even else (0, 0),
        dilation=tuple(node.get("dilations") or (1, 1)),
        mask=mask,
    )
