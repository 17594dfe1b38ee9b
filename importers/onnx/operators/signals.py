"""Lowerings of Fourier transforms and mel weights."""

from __future__ import annotations

import math

import numpy as np
import torch
import torch.nn.functional as F

from importers.onnx.element_types import dtype_of
from importers.onnx.node import Node
from importers.onnx.registry import operator

Tensor = torch.Tensor


@operator("DFT")
def dft(
    node: Node, x: Tensor, _length: Tensor | None = None, _axis: Tensor | None = None
) -> Tensor:
    """Lowers `DFT` along an axis. The last axis holds real and imaginary parts."""
    axis = node.number(2, -2) if node.opset >= 20 else node.get("axis", 1)
    axis = axis % x.dim()
    inverse, onesided = bool(node.get("inverse", 0)), bool(node.get("onesided", 0))
    size = x.shape[axis]
    length = node.number(1)
    if length is None:
        length = 2 * (size - 1) if inverse and onesided else size
    real = x[..., 0]
    imaginary = x[..., 1] if x.shape[-1] == 2 else torch.zeros_like(real)
    if inverse and onesided:
        real, imaginary = _whole_spectrum(real, imaginary, axis, length)
    parts = _transform(real, imaginary, axis, length, inverse)
    if onesided:
        if inverse:
            return parts[..., :1]
        return parts.narrow(axis, 0, length // 2 + 1)
    return parts


def _transform(real: Tensor, imaginary: Tensor, axis: int, length: int, inverse: bool) -> Tensor:
    if real.shape[axis] > length:
        real, imaginary = (x.narrow(axis, 0, length) for x in (real, imaginary))
    elif real.shape[axis] < length:
        more = [0, 0] * (real.dim() - 1 - axis) + [0, length - real.shape[axis]]
        real, imaginary = F.pad(real, more), F.pad(imaginary, more)
    # PyTorch has no transform in half precision.
    wide = torch.float64 if real.dtype == torch.float64 else torch.float32
    signal = torch.complex(real.to(wide), imaginary.to(wide))
    found = (torch.fft.ifft if inverse else torch.fft.fft)(signal, dim=axis)
    return torch.view_as_real(found).to(real.dtype)


def _whole_spectrum(
    real: Tensor, imaginary: Tensor, axis: int, length: int
) -> tuple[Tensor, Tensor]:
    """Extends a one-sided spectrum to the whole one. Drops imaginary parts that must be 0."""
    half = length // 2 + 1
    if real.shape[axis] > half:
        real, imaginary = (x.narrow(axis, 0, half) for x in (real, imaginary))
    elif real.shape[axis] < half:
        more = [0, 0] * (real.dim() - 1 - axis) + [0, half - real.shape[axis]]
        real, imaginary = F.pad(real, more), F.pad(imaginary, more)
    place = torch.arange(half).reshape([-1 if i == axis else 1 for i in range(real.dim())])
    alone = (place == 0) | (place * 2 == length)
    imaginary = torch.where(alone, torch.zeros_like(imaginary), imaginary)
    rest = length - half
    mirrored = [x.narrow(axis, 1, rest).flip(axis) for x in (real, imaginary)]
    return torch.cat([real, mirrored[0]], axis), torch.cat([imaginary, -mirrored[1]], axis)


@operator("STFT")
def stft(
    node: Node,
    signal: Tensor,
    _step: Tensor,
    window: Tensor | None = None,
    _length: Tensor | None = None,
) -> Tensor:
    """Lowers `STFT`: the Fourier transforms of frames, (batch, frames, frequencies, 2)."""
    step = node.number(1)
    length = node.number(3)
    if length is None:
        length = window.shape[0] if window is not None else signal.shape[1]
    if signal.dim() == 2:
        signal = signal.unsqueeze(-1)
    frames = signal.unfold(1, length, step)
    if window is not None:
        if window.shape[0] != length:
            raise node.refuse("with a window of another length than the frames")
        frames = frames * window
    real = frames[:, :, 0]
    imaginary = frames[:, :, 1] if frames.shape[2] == 2 else torch.zeros_like(real)
    parts = _transform(real, imaginary, 2, length, False)
    return parts.narrow(2, 0, length // 2 + 1) if node.get("onesided", 1) else parts


@operator("MelWeightMatrix")
def mel_weight_matrix(node: Node, *_inputs: Tensor) -> Tensor:
    """Lowers `MelWeightMatrix`: triangular filters, (frequencies, mels)."""
    bins, length, rate, low, high = (node.number(i) for i in range(5))
    spectrum = length // 2 + 1
    lowest, highest = (2595 * math.log10(1 + hertz / 700) for hertz in (low, high))
    step = (highest - lowest) / (bins + 2)
    mels = np.arange(bins + 2) * step + lowest
    hertz = 700 * (np.power(10, mels / 2595) - 1)
    places = ((length + 1) * hertz // rate).astype(int)
    matrix = np.zeros((spectrum, bins))
    for i in range(bins):
        start, middle, end = places[i : i + 3]
        if middle == start:
            matrix[middle, i] = 1
        else:
            for j in range(start, middle + 1):
                matrix[j, i] = (j - start) / (middle - start)
        if end > middle:
            for j in range(middle, end):
                matrix[j, i] = (end - j) / (end - middle)
    dtype = dtype_of(node.get("output_datatype", 1), node.operator)
    return torch.from_numpy(matrix).to(dtype)
