"""Lowerings of ONNX operators to PyTorch operators. Importing this package registers them.

Operators without a lowering use ONNX's own function body, if there is one.
"""

from importlib import import_module

for _file in (
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
    "shapes",
    "signals",
    "text",
    "training",
):
    import_module(f"{__name__}.{_file}")
