"""Sequences that are written to a tensor of the user's: `torch.arange(6, out=matrix)`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.fx.experimental.symbolic_shapes import statically_known_true

# They resize `out` where it has another number of elements, and leave its shape otherwise.
SEQUENCES = frozenset({torch.arange, torch.linspace, torch.logspace, torch.range})


def write_sequence(function: Callable[..., Any], args: tuple, kwargs: dict[str, Any]) -> Any:
    """Calls one of SEQUENCES as eager does; a tracer gives the result the sequence's own shape."""
    out = kwargs["out"]
    rest = {name: value for name, value in kwargs.items() if name != "out"}
    values = function(*args, **{**rest, "dtype": out.dtype})
    if not statically_known_true(values.numel() == out.numel()):
        return function(*args, **kwargs)
    return out.copy_(values.reshape(out.shape))
