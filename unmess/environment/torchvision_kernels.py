"""CPU kernels of torchvision's operators for detection, if its C extension does not load.

The kernels compute the same as the extension's CPU kernels, in the same order. They have no
gradients.
"""

import importlib

import torch
from torch.nn import functional

SCHEMAS = {
    "nms": "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "roi_align": (
        "roi_align(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, "
        "SymInt pooled_width, int sampling_ratio, bool aligned) -> Tensor"
    ),
    "deform_conv2d": (
        "deform_conv2d(Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias, "
        "SymInt stride_h, SymInt stride_w, SymInt pad_h, SymInt pad_w, SymInt dilation_h, "
        "SymInt dilation_w, SymInt groups, SymInt offset_groups, bool use_mask) -> Tensor"
    ),
}

# Number of boxes that `nms` compares with all others at the same time.
_BLOCK = 64


def nms(dets, scores, iou_threshold):
    """Returns i64 indices of the boxes `dets` (`[n, 4]`) to keep, by descending score (`[n]`)."""
    left = scores.argsort(stable=True, descending=True)
    kept = [left[:0]]
    while len(left):
        x1, y1, x2, y2 = dets[left].unbind(1)
        areas = (x2 - x1) * (y2 - y1)
        # The overlap of each of the best boxes (rows) with all boxes that are left (columns).
        best = slice(0, _BLOCK), None
        width = (torch.minimum(x2[best], x2) - torch.maximum(x1[best], x1)).clamp(0)
        height = (torch.minimum(y2[best], y2) - torch.maximum(y1[best], y1)).clamp(0)
        shared = width * height
        overlap = shared / (areas[best] + areas - shared)
        keep = torch.zeros(len(overlap), dtype=torch.bool)
        dropped = torch.zeros(len(left), dtype=torch.bool)
        # The threshold is a double, so compare in double precision.
        for row, near in enumerate(overlap.double() > iou_threshold):
            if not dropped[row]:
                keep[row] = True
                dropped |= near
        kept.append(left[:_BLOCK][keep])
        left = left[_BLOCK:][~dropped[_BLOCK:]]
    return torch.cat(kept)


def roi_align(
    input, rois, spatial_scale, pooled_height, pooled_width, sampling_ratio, aligned
):  # fmt: skip
    """Averages bilinear samples of `input` (`[n, c, h, w]`) in the bins of boxes.

    `rois` is `[k, 5]`: the index of the image, then the corners of the box. The result is
    `[k, c, pooled_height, pooled_width]`. If `sampling_ratio` is 0 or less, each bin has as many
    samples as pixels.
    """
    if not len(rois):
        return input.new_zeros((0, input.shape[1], pooled_height, pooled_width))
    shift = 0.5 if aligned else 0.0
    pooled = []
    for image, *corners in rois.tolist():
        x1, y1, x2, y2 = (
            torch.tensor(corner, dtype=input.dtype) * spatial_scale - shift for corner in corners
        )
        axes = (y1, y2, pooled_height), (x1, x2, pooled_width)
        rows, columns = (
            _samples(*axis, size, sampling_ratio, aligned)
            for axis, size in zip(axes, input.shape[2:], strict=True)
        )
        pooled.append(_average(input[int(image)], rows, columns, pooled_height, pooled_width))
    return torch.stack(pooled)


def _samples(start, end, bins, size, sampling_ratio, aligned):
    """Returns the samples' two neighbors along one axis, the second's weight, and which count."""
    length = end - start if aligned else (end - start).clamp(min=1.0)
    step = length / bins
    grid = sampling_ratio if sampling_ratio > 0 else int(torch.ceil(length / bins))
    inside_bin = torch.arange(grid) + 0.5
    places = (
        start + torch.arange(bins)[:, None] * step + inside_bin * step / max(grid, 1)
    ).flatten()  # fmt: skip
    counts = (places >= -1.0) & (places <= size)
    places = places.clamp(min=0)
    low = places.to(torch.int64).clamp(max=size - 1)
    high = (low + 1).clamp(max=size - 1)
    fraction = torch.where(low >= size - 1, torch.zeros(()), places - low)
    return low, high, fraction, counts


def _average(image, rows, columns, height, width):
    y_low, y_high, y, y_counts = rows
    x_low, x_high, x, x_counts = columns
    y = y[:, None].to(image.dtype)
    corners = (
        (image[:, y_low][:, :, x_low], (1 - y) * (1 - x)),
        (image[:, y_low][:, :, x_high], (1 - y) * x),
        (image[:, y_high][:, :, x_low], y * (1 - x)),
        (image[:, y_high][:, :, x_high], y * x),
    )
    values = sum(corner * weight for corner, weight in corners)
    values = values * (y_counts[:, None] & x_counts)
    grid_height, grid_width = len(y_low) // height, len(x_low) // width
    values = values.reshape(-1, height, grid_height, width, grid_width)
    return values.sum((2, 4)) / max(grid_height * grid_width, 1)


def deform_conv2d(
    input, weight, offset, mask, bias, stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w,
    groups, offset_groups, use_mask,
):  # fmt: skip
    """Computes a convolution whose kernel samples `input` at its regular positions plus `offset`.

    `input` is `[n, c, h, w]`, `weight` `[d, c / groups, kh, kw]`, `offset`
    `[n, 2·offset_groups·kh·kw, oh, ow]`, `mask` `[n, offset_groups·kh·kw, oh, ow]`; the result is
    `[n, d, oh, ow]`.
    """
    batch, channels, height, width = input.shape
    rows, columns = weight.shape[2:]
    out_h, out_w = offset.shape[2:]
    shifts = offset.reshape(batch, offset_groups, rows, columns, 2, out_h, out_w)
    masks = mask.reshape(batch, offset_groups, rows, columns, out_h, out_w) if use_mask else None
    parts = input.reshape(batch * offset_groups, channels // offset_groups, height, width)
    top = (torch.arange(out_h) * stride_h - pad_h)[:, None]
    left = torch.arange(out_w) * stride_w - pad_w
    samples = []
    for row in range(rows):
        for column in range(columns):
            y = top + row * dilation_h + shifts[:, :, row, column, 0]
            x = left + column * dilation_w + shifts[:, :, row, column, 1]
            # The coordinates of grid_sample go from -1 to 1 over the whole image.
            grid = torch.stack([(2 * x + 1) / width - 1, (2 * y + 1) / height - 1], -1)
            sample = functional.grid_sample(parts, grid.flatten(0, 1), align_corners=False)
            sample = sample.reshape(batch, offset_groups, -1, out_h, out_w)
            if use_mask:
                sample = sample * masks[:, :, None, row, column]
            samples.append(sample.reshape(batch, channels, out_h, out_w))
    # [n, groups, c / groups · kh · kw, oh · ow], in the order of each group's weight.
    taps = torch.stack(samples, 2).reshape(batch, groups, -1, out_h * out_w)
    result = weight.reshape(groups, weight.shape[0] // groups, -1) @ taps
    return result.reshape(batch, -1, out_h, out_w) + bias[:, None, None]


KERNELS = {"nms": nms, "roi_align": roi_align, "deform_conv2d": deform_conv2d}


def register(library):
    """Registers these kernels for torchvision's operators, and lets torchvision call them.

    `library` defines their schemas. torchvision must have been imported: each of its modules has
    its own copy of the functions that check for the extension.
    """
    from torchvision import _meta_registrations

    for name, kernel in KERNELS.items():
        library.impl(name, kernel, "CPU")
    for name, meta in (
        ("roi_align", _meta_registrations.meta_roi_align),
        ("deform_conv2d", _meta_registrations.meta_deform_conv2d),
    ):
        library.impl(name, meta, "Meta")
        torch.library.register_autograd(f"torchvision::{name}", _no_gradient(name), lib=library)
    # Import them by name: functions in the package `ops` have the same names as its modules.
    for name in ("boxes", "deform_conv", "roi_align"):
        importlib.import_module(f"torchvision.ops.{name}")._assert_has_ops = lambda: None
    importlib.import_module("torchvision.ops.roi_align")._has_ops = lambda: True


def _no_gradient(name):
    def backward(_context, *_gradients):
        raise NotImplementedError(
            f"torchvision::{name} has no gradient where torchvision's C extension does not load: "
            "use a torch and a torchvision that belong together"
        )

    return backward
