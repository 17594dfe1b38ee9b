"""What each ONNX operator computes, by PyTorch's operators. Importing this registers all of them.

An operator that is not here is computed as ONNX's own definition says, where that is a graph.
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
