"""Sizes of elements in memory."""

from __future__ import annotations

from torch_mlir import ir


def element_bytes(element: ir.Type) -> int:
    """Returns the number of bytes of an element in memory. Booleans have one byte each."""
    if isinstance(element, ir.ComplexType):
        return 2 * element_bytes(element.element_type)
    if isinstance(element, ir.IndexType):
        return 8
    return max(element.width // 8, 1)
