"""Eager mode's quantised models in plain integer arithmetic.

PyTorch's quantised tensors cannot be exported. Here each is a tensor of integers beside a scale and
a zero point that are numbers, and the quantised layers compute with them what PyTorch's kernels do:
products and sums in i32, one multiplication per channel, rounding to even.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import Any

import torch

IN_INTEGERS = "quantised layers compute in i32, as PyTorch's kernels do"


@contextlib.contextmanager
def in_integers(model: Any) -> Iterator[bool]:
    """While it lasts, the quantised layers of `model` compute with plain integers.

    Yields:
        Whether there are any.

    Raises:
        Error: stage `capture`, from a call of the model, for a quantised layer or function that has
            no such form.
    """
    if not isinstance(model, torch.nn.Module) or not _is_quantized(model):
        yield False
        return
    from importers.quantized.layers import exchanged

    with exchanged(model):
        yield True


def _is_quantized(model: torch.nn.Module) -> bool:
    # A quantised layer comes with PyTorch's module of them.
    if "torch.ao.nn.quantized" not in sys.modules:
        return False
    return any(".quantized." in type(layer).__module__ for layer in model.modules())
