"""Writes sequences to the `out` tensor of the user: `torch.arange(6, out=matrix)`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.fx.experimental.symbolic_shapes import statically_known_true

# These resize `out` if its number of elements differs, and keep its shape otherwise.
SEQUENCES = frozenset({torch.arange, torch.linspace, torch.logspace, torch.range})


def write_sequence(function: Callable[..., Any], args: tuple, kwargs: dict[str, Any]) -> Any:
    """Calls one of SEQUENCES with eager's result shape; a tracer returns the sequence's shape."""
    out = kwargs["out"]
    rest = {name: value for name, value in kwargs.items() if name != "out"}
    values = function(*args, **{**rest, "dtype": out.dtype})
    if not statically_known_true(values.numel() == out.numel()):
        return function(*args, **kwargs)
    return out.copy_(values.reshape(out.shape))
