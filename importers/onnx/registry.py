"""The functions that compute ONNX operators, by domain and name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

# Takes the node and the tensors of its inputs, None for those left out.
Lowering = Callable[..., Any]
_LOWERINGS: dict[tuple[str, str], Lowering] = {}


def operator(*names: str, domain: str = "") -> Callable[[Lowering], Lowering]:
    """Registers a function for the operators of these names.

    It is called with the `Node`, and a tensor for each input. It returns a tensor, an array of
    sizes, or a tuple of them; there may be fewer than the node has outputs, but none that is used
    may be missing.
    """

    def register(function: Lowering) -> Lowering:
        for name in names:
            _LOWERINGS[domain, name] = function
        return function

    return register


def lowering_of(domain: str, name: str) -> Lowering | None:
    """The function for an operator; None where there is none."""
    # Importing a file registers what is in it.
    import importers.onnx.operators  # noqa: F401

    return _LOWERINGS.get(("" if domain == "ai.onnx" else domain, name))
