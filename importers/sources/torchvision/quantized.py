"""Quantised models: calibrated on random images, in the arithmetic of the engine they are for."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from typing import Any

import torch

# torchvision quantises its mobile networks for QNNPACK, the others for FBGEMM.
_FOR_QNNPACK = ("quantized_mobilenet_v2", "quantized_mobilenet_v3_large")
# Random images that the ranges of activations are taken from.
_CALIBRATION = 4


def quantize(name: str, model: Any, size: tuple[int, int]) -> torch.nn.Module:
    """`model`, which must be one that can be quantised and in evaluation mode, as eager's int8 one.

    Args:
        size: height and width of an image.
    """
    from torch.ao import quantization

    engine = "qnnpack" if name in _FOR_QNNPACK else "fbgemm"
    with _engine(engine), warnings.catch_warnings():
        # torch.ao's announcement that it moves to a package of its own, and its observers' advice.
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
