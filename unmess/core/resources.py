"""Constants whose elements are in a file's resource section, `dense_resource<…>`.

MLIR does not compare the bytes of a resource with the type of the constant. Compilers read as many
as the type says, beyond the end of a shorter one.
"""

from __future__ import annotations

import math

from torch_mlir import ir

# `"0x`, the alignment in 8 digits, and `"`.
_AROUND = 12
_NAME = "unmess.resource"


def short_resource(module: ir.Module) -> str | None:
    """The first constant that has fewer bytes than its type needs; None without one."""
    found: dict[ir.Attribute, int] = {}

    def visit(operation: ir.Operation) -> ir.WalkResult:
        for name in operation.attributes:
            try:
                attribute = operation.attributes[name]
            except TypeError:
                # The bindings cannot represent literals of complex numbers. Those are no resources.
                continue
            if _is_resource(attribute):
                found[attribute] = _bytes_of(ir.ShapedType(attribute.type))
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    return next((str(each) for each, size in found.items() if _is_shorter(each, size)), None)


def _is_resource(attribute: ir.Attribute) -> bool:
    # The bindings give it no class of its own, and convert nothing else to this one.
    if type(attribute) is not ir.Attribute:
        return False
    try:
        ir.DenseResourceElementsAttr(attribute)
    except ValueError:
        return False
    return True


def _bytes_of(kind: ir.ShapedType) -> int:
    """The number of bytes that elements of a type take. A bool takes one."""
    count = math.prod(kind.shape)
    element = kind.element_type
    if isinstance(element, ir.ComplexType):
        return 2 * count * _bits(element.element_type) // 8
    bits = _bits(element)
    return count if bits == 1 else math.ceil(count * bits / 8)


def _bits(element: ir.Type) -> int:
    return 64 if isinstance(element, ir.IndexType) else element.width


def _is_shorter(attribute: ir.Attribute, size: int) -> bool:
    """Whether a resource has fewer than `size` bytes.

    The bindings do not give its size. But the printer leaves out resources whose text is longer
    than a limit.
    """
    with attribute.context, ir.Location.unknown():
        holder = ir.Module.create()
        holder.operation.attributes[_NAME] = attribute
        text = holder.operation.get_asm(large_resource_limit=_AROUND + 2 * size - 1)
    return "dialect_resources" in text
