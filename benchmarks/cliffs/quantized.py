"""Layers of quantized models.

Capture replaces quantized operators by arithmetic, so the configurations come from the modules.
"""

from __future__ import annotations

import warnings
from typing import Any

import torch

from benchmarks.cliffs.configurations import Configuration

# For each quantized class: the name of the float class, and whether a ReLU follows.
_LAYERS = {
    "Conv2d": ("Conv2d", False),
    "ConvReLU2d": ("Conv2d", True),
    "Linear": ("Linear", False),
    "LinearReLU": ("Linear", True),
}
_OPTIONS = {
    "Conv2d": (
        *("in_channels", "out_channels", "kernel_size", "stride", "padding", "dilation", "groups"),
    ),
    "Linear": ("in_features", "out_features"),
}


def quantized_layers(model: Any, args: tuple) -> list[Configuration]:
    """Returns the configurations of the quantized layers that a call uses, if any."""
    if not isinstance(model, torch.nn.Module):
        return []
    found, handles = [], []

    def record(module: torch.nn.Module, inputs: tuple, _result: Any) -> None:
        name = type(module).__name__
        layer, _ = _LAYERS[name]
        options = {each: getattr(module, each) for each in _OPTIONS[layer]}
        shape = {"shape": list(inputs[0].shape), "dtype": "float32", "is_weight": False}
        listed = {key: list(v) if isinstance(v, tuple) else v for key, v in options.items()}
        found.append(Configuration(f"quantized.{name}", {"input": shape, **listed}))

    for module in model.modules():
        is_quantized = "quantized" in type(module).__module__.split(".")
        if is_quantized and type(module).__name__ in _LAYERS:
            handles.append(module.register_forward_hook(record))
    if handles:
        with torch.no_grad():
            model(*args)
    for handle in handles:
        handle.remove()
    return found


def quantized_layer(configuration: Configuration) -> torch.nn.Module:
    """Returns a layer that quantizes its input, and whose result is float."""
    from torch.ao import quantization

    options = dict(configuration.args)
    shape = options.pop("input")["shape"]
    name, with_relu = _LAYERS[configuration.operator.removeprefix("quantized.")]
    options = {key: tuple(v) if isinstance(v, list) else v for key, v in options.items()}
    layers = [getattr(torch.nn, name)(**options), *([torch.nn.ReLU()] if with_relu else [])]
    model = torch.nn.Sequential(
        quantization.QuantStub(), torch.nn.Sequential(*layers), quantization.DeQuantStub()
    ).eval()
    with warnings.catch_warnings():
        # torch.ao warns that it moves to another package, and its observers give advice.
        warnings.simplefilter("ignore")
        if with_relu:
            quantization.fuse_modules(model[1], ["0", "1"], inplace=True)
        model.qconfig = quantization.get_default_qconfig("fbgemm")
        quantization.prepare(model, inplace=True)
        with torch.no_grad():
            model(torch.rand(shape))
        return quantization.convert(model, inplace=True)
