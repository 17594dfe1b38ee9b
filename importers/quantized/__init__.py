"""Captures models of PyTorch's eager-mode quantization in plain integer arithmetic.

PyTorch cannot export quantized tensors. Here each one is a tensor of integers, with a scale and a
zero point that are Python numbers. The quantized layers compute what PyTorch's kernels compute:
products and sums in i32, one multiplication per channel, and rounding to even.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import Any

import torch

IN_INTEGERS = "quantized layers compute in i32, as PyTorch's kernels do"


@contextlib.contextmanager
def in_integers(model: Any) -> Iterator[bool]:
    """Makes the quantized layers of `model` compute with plain integers, in the `with` block.

    Yields:
        Whether the model has quantized layers.

    Raises:
        Error: stage `capture`, from a call of the model, for a quantized layer or function that is
            not supported.
    """
    if not isinstance(model, torch.nn.Module) or not is_quantized(model):
        yield False
        return
    from importers.quantized.layers import integer_layers

    with integer_layers(model):
        yield True


def is_quantized(model: torch.nn.Module) -> bool:
    """Returns whether a model has layers of `torch.ao.nn.quantized`."""
    # Quantized layers are from this module, so without it there are none.
    if "torch.ao.nn.quantized" not in sys.modules:
        return False
    return any(".quantized." in type(layer).__module__ for layer in model.modules())
