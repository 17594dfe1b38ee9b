"""Sums of overlapping blocks of images."""

from __future__ import annotations

from collections.abc import Sequence

import torch


def col2im(
    x: torch.Tensor,
    output_size: Sequence[int],
    kernel_size: Sequence[int],
    dilation: Sequence[int],
    padding: Sequence[int],
    stride: Sequence[int],
) -> torch.Tensor:
    """Adds blocks to an image, as `torch.nn.functional.fold` does.

    Element (i, j) of the block at (a, b) belongs to row `i * dilation + a * stride` of the padded
    image, and to a column that is computed alike. The elements of all blocks at the same (i, j)
    are added together, in eager's order. Those that fall on the same phase of the stride are
    shifted to each other, and the phases are interleaved at the end.

    Args:
        x: `[N, C * kernel height * kernel width, blocks]`, or without the first axis.
        output_size, kernel_size, dilation, padding, stride: of both axes.

    Returns:
        `[N, C, *output_size]`, or without the first axis.
    """
    if x.dim() == 2:
        return col2im(x[None], output_size, kernel_size, dilation, padding, stride)[0]
    blocks, phase_sizes = [], []
    for size, kernel, spacing, border, step in zip(
        output_size, kernel_size, dilation, padding, stride, strict=True
    ):
        padded = size + 2 * border
        blocks.append((padded - spacing * (kernel - 1) - 1) // step + 1)
        phase_sizes.append(-(-padded // step))
    x = x.reshape(x.shape[0], -1, *kernel_size, *blocks)
    if list(kernel_size) == list(stride) and set(dilation) == {1}:
        # Each element belongs to a pixel of its own.
        phases = x.movedim((2, 3), (3, 5))
        space = [all_ - some for all_, some in zip(phase_sizes, blocks, strict=True)]
        phases = torch.nn.functional.pad(phases, (0, 0, 0, space[1], 0, 0, 0, space[0]))
    else:
        phases = _phases(x, dilation, stride, phase_sizes)
    image = phases.flatten(4, 5).flatten(2, 3)
    for axis, (size, border) in enumerate(zip(output_size, padding, strict=True)):
        image = image.narrow(2 + axis, border, size)
    # Eager adds to zeros, so the result has no negative zeros.
    return image + torch.zeros((), dtype=x.dtype)


def _phases(
    x: torch.Tensor, dilation: Sequence[int], stride: Sequence[int], sizes: Sequence[int]
) -> torch.Tensor:
    """Returns the rows and columns of the padded image by their remainders modulo the stride.

    Args:
        x: `[N, C, kernel height, kernel width, *blocks]`.
        sizes: the number of rows, and of columns, with the same remainder.

    Returns:
        `[N, C, rows, row remainders, columns, column remainders]`.
    """
    (_, _, height, width, rows, columns) = x.shape
    sums: dict[tuple[int, int], torch.Tensor] = {}
    for i in range(height):
        for j in range(width):
            above, row = divmod(i * dilation[0], stride[0])
            left, column = divmod(j * dilation[1], stride[1])
            shift = (left, sizes[1] - columns - left, above, sizes[0] - rows - above)
            shifted = torch.nn.functional.pad(x[:, :, i, j], shift)
            sum_ = sums.get((row, column))
            sums[row, column] = shifted if sum_ is None else sum_ + shifted
    empty = x.new_zeros(*x.shape[:2], *sizes)
    return torch.stack(
        [
            torch.stack([sums.get((row, column), empty) for column in range(stride[1])], -1)
            for row in range(stride[0])
        ],
        3,
    )
