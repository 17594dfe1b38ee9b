"""Checks constants whose elements are in a file's resource section, `dense_resource<…>`.

MLIR does not compare the size of a resource with the type of the constant. Compilers read as many
bytes as the type needs, beyond the end of a resource that is too short.
"""

from __future__ import annotations

import math

from torch_mlir import ir

# Characters in a printed resource besides its data: `"0x`, the alignment in 8 digits, and `"`.
_AROUND = 12
_NAME = "unmess.resource"


def short_resource(module: ir.Module) -> str | None:
    """Returns the first constant with fewer bytes than its type needs; None if there is none."""
    found: dict[ir.Attribute, int] = {}

    def visit(operation: ir.Operation) -> ir.WalkResult:
        for name in operation.attributes:
            try:
                attribute = operation.attributes[name]
            except TypeError:
                # The bindings cannot represent complex literals. Those are not resources.
                continue
            if _is_resource(attribute):
                found[attribute] = _bytes_of(ir.ShapedType(attribute.type))
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    return next((str(each) for each, size in found.items() if _is_shorter(each, size)), None)


def _is_resource(attribute: ir.Attribute) -> bool:
    # The bindings return resources as plain `Attribute`. Only resources can be cast.
    if type(attribute) is not ir.Attribute:
        return False
    try:
        ir.DenseResourceElementsAttr(attribute)
    except ValueError:
        return False
    return True


def _bytes_of(kind: ir.ShapedType) -> int:
    """Returns the size in bytes of the elements of a type. A bool takes one byte."""
    count = math.prod(kind.shape)
    element = kind.element_type
    if isinstance(element, ir.ComplexType):
        return 2 * count * _bits(element.element_type) // 8
    bits = _bits(element)
    return count if bits == 1 else math.ceil(count * bits / 8)


def _bits(element: ir.Type) -> int:
    return 64 if isinstance(element, ir.IndexType) else element.width


def _is_shorter(attribute: ir.Attribute, size: int) -> bool:
    """Returns whether a resource has fewer than `size` bytes.

    The bindings do not expose its size. But the printer leaves out resources whose text is longer
    than a limit.
    """
    with attribute.context, ir.Location.unknown():
        holder = ir.Module.create()
        holder.operation.attributes[_NAME] = attribute
        text = holder.operation.get_asm(large_resource_limit=_AROUND + 2 * size - 1)
    return "dialect_resources" in text
