"""Lowerings of ONNX operators to PyTorch operators. Importing this package registers them.

Operators without a lowering use ONNX's own function body, if there is one.
"""

from importers.onnx.operators import (
    casts,
    control_flow,
    convolution,
    detection,
    elementwise,
    indexing,
    matrices,
    normalization,
    pooling,
    quantization,
    random_numbers,
    recurrent,
    reductions,
    resize,
    sampling,
    shapes,
    signals,
    text,
    training,
)

__all__ = [
    "casts",
    "control_flow",
    "convolution",
    "detection",
    "elementwise",
    "indexing",
    "matrices",
    "normalization",
    "pooling",
    "quantization",
    "random_numbers",
    "recurrent",
    "reductions",
    "resize",
    "sampling",
    "shapes",
    "signals",
    "text",
    "training",
]
