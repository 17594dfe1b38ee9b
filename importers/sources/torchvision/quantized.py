"""Quantizes models, calibrated on random images, for the engine that torchvision uses for them."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from typing import Any

import torch

# torchvision quantizes its mobile networks for QNNPACK, the others for FBGEMM.
_FOR_QNNPACK = ("quantized_mobilenet_v2", "quantized_mobilenet_v3_large")
# The number of random images for the ranges of activations.
_CALIBRATION = 4


def quantize(name: str, model: Any, size: tuple[int, int]) -> torch.nn.Module:
    """Converts a quantizable model in evaluation mode to an int8 model of eager PyTorch.

    Args:
        size: height and width of an image.
    """
    from torch.ao import quantization

    engine = "qnnpack" if name in _FOR_QNNPACK else "fbgemm"
    with _engine(engine), warnings.catch_warnings():
        # torch.ao warns that it moves to another package, and its observers give advice.
        warnings.simplefilter("ignore")
        model.fuse_model()
        model.qconfig = quantization.get_default_qconfig(engine)
        quantization.prepare(model, inplace=True)
        with torch.no_grad():
            for _ in range(_CALIBRATION):
                model(torch.randn(1, 3, *size))
        return quantization.convert(model, inplace=True)


@contextlib.contextmanager
def _engine(name: str) -> Iterator[None]:
    before = torch.backends.quantized.engine
    torch.backends.quantized.engine = name
    try:
        yield
    finally:
        torch.backends.quantized.engine = before
