"""A registry of the lowerings of ONNX operators, by domain and name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

# Takes the node and the tensors of its inputs, None for omitted ones.
Lowering = Callable[..., Any]
_LOWERINGS: dict[tuple[str, str], Lowering] = {}


def operator(*names: str, domain: str = "") -> Callable[[Lowering], Lowering]:
    """Registers a function as the lowering of the operators with these names.

    The function receives the `Node` and a tensor for each input. It returns a tensor, an array of
    sizes, or a tuple of them. It may omit trailing outputs that are not used.
    """

    def register(function: Lowering) -> Lowering:
        for name in names:
            _LOWERINGS[domain, name] = function
        return function

    return register


def lowering_of(domain: str, name: str) -> Lowering | None:
    """Returns the lowering of an operator, or None. `importers.onnx.operators` registers them."""
    return _LOWERINGS.get(("" if domain == "ai.onnx" else domain, name))
