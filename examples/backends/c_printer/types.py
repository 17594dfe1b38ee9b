"""The C types of elements, and errors for what cannot be printed."""

from torch_mlir import ir

import unmess
from unmess.core.errors.user_source import location_line

# The C type of each element type. Booleans are bytes in memory.
TYPES = {
    "i1": "bool",
    "i8": "int8_t",
    "i16": "int16_t",
    "i32": "int32_t",
    "i64": "int64_t",
    "index": "int64_t",
    "f32": "float",
    "f64": "double",
}


def width(kind):
    """Returns the width of a number type in bits. An index has 64."""
    return 64 if isinstance(kind, ir.IndexType) else kind.width


def element_type(value):
    """Returns the C type of a number, or of the elements of a tensor or buffer.

    Raises:
        unmess.Error: stage `compile`, if C has none.
    """
    kind = value.type
    kind = kind.element_type if isinstance(kind, ir.ShapedType) else kind
    if str(kind) not in TYPES:
        raise _refused(
            definition(value),
            f"C has no type for {kind}, which",
            "has",
            hint=f"the element types are {', '.join(TYPES)}",
        )
    return TYPES[str(kind)]


def check_value(value):
    """Raises an Error (`compile`) unless C has a type for the elements, and the size is known."""
    element_type(value)
    if isinstance(value.type, ir.ShapedType) and not value.type.has_static_shape:
        raise _refused(
            definition(value),
            f"the memory plan is static, but the size of {value.type}, which",
            "has, depends on the call",
            hint="capture the model without dynamic_shapes; results must not depend on data in "
            "their size",
        )


def unsupported(operation, detail=""):
    """Returns the Error (`compile`) for an operation that cannot be printed."""
    return unmess.Error(
        "compile",
        f"no C for {operation.name} {detail}",
        where=location_line(operation.location),
        hint="write the model with simpler operators, or choose another backend",
    )


def definition(value):
    """Returns the operation that has a value as a result, or as an argument of its region."""
    owner = value.owner
    return owner.owner.operation if isinstance(owner, ir.Block) else owner.operation


def _refused(operation, before, after, hint):
    name = "the signature" if operation.name == "func.func" else operation.name
    where = location_line(operation.location)
    return unmess.Error("compile", f"{before} {name} {after}", where=where, hint=hint)
