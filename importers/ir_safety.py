"""Checks that IR from a file only computes.

IR is compiled to native code in this process. The LLVM dialect, functions without a body and many
attributes can affect more than the program: they call functions of the C library, access any
memory, or run passes that write files. So an allowlist of dialects admits only operations on
values.
"""

from __future__ import annotations

from collections.abc import Iterator

from torch_mlir import ir

from unmess.core.errors.error import needs_trust
from unmess.core.errors.user_source import location_line

# Dialects whose operations have values as operands and results, never memory. `memref`, `vector`,
# `bufferization`, `llvm` and `gpu` have addresses. `transform` changes how the program is compiled.
_DIALECTS = frozenset(
    [
        "builtin",
        "func",
        "arith",
        "math",
        "complex",
        "linalg",
        "tensor",
        "scf",
        "cf",
        "shape",
        "index",
        "ub",
        "quant",
        "ml_program",
        "tm_tensor",
        "torch",
        "torch_c",
        "tosa",
        "stablehlo",
        "chlo",
        "vhlo",
    ]
)
# Operations on values, in a dialect that also has operations on memory. torch-mlir's linalg has
# `affine.apply` in reshapes with computed sizes.
_OPERATIONS = frozenset(("affine.apply", "affine.max", "affine.min"))
# Discardable attributes belong to a dialect too. Other tools write those of the dialects added
# here, and no pass of this project reads them.
_ATTRIBUTE_DIALECTS = _DIALECTS | {"unmess", "mhlo", "tf", "tf_saved_model", "tfl", "jax", "sdy"}
# The attribute that names a function, which a pass calls instead of the operation.
_LIBRARY_CALL = "library_call"
# Other attributes without a dialect, such as `passthrough`, reach LLVM.
_OWN_ATTRIBUTES = {
    "builtin.module": frozenset(("sym_name", "sym_visibility")),
    "func.func": frozenset(
        ("sym_name", "sym_visibility", "function_type", "arg_attrs", "res_attrs", "no_inline")
    ),
}
_NESTED = ("arg_attrs", "res_attrs")


def check_operations(module: ir.Module, path: str) -> None:
    """Raises an Error (`source`) if the IR contains anything that could do more than compute.

    Args:
        path: the path of the file, for the message.
    """
    problem: list[tuple[str, ir.Location]] = []

    def visit(operation: ir.Operation) -> ir.WalkResult:
        found = _problem(operation)
        if found is None:
            return ir.WalkResult.ADVANCE
        problem.append((found, operation.location))
        return ir.WalkResult.INTERRUPT

    module.operation.walk(visit)
    if problem:
        text, location = problem[0]
        raise needs_trust(path, text, location_line(location))


def _problem(operation: ir.Operation) -> str | None:
    """Returns why an operation needs trust, or None."""
    name = operation.name
    if name.partition(".")[0] not in _DIALECTS and name not in _OPERATIONS:
        return f"the operation {name}"
    if name == "func.func" and not operation.regions[0].blocks:
        symbol = ir.StringAttr(operation.attributes["sym_name"]).value
        return f"the function {symbol} of another library"
    own = _OWN_ATTRIBUTES.get(name)
    for attribute in operation.attributes:
        if "." not in attribute and own is not None and attribute not in own:
            return f"the attribute {attribute}"
    for attribute in _attribute_names(operation):
        dialect, dot, _ = attribute.partition(".")
        if attribute == _LIBRARY_CALL or (dot and dialect not in _ATTRIBUTE_DIALECTS):
            return f"the attribute {attribute}"
    return None


def _attribute_names(operation: ir.Operation) -> Iterator[str]:
    """Yields the names of an operation's attributes, including those of arguments and results."""
    for name in operation.attributes:
        yield name
        if name in _NESTED:
            for each in ir.ArrayAttr(operation.attributes[name]):
                yield from (named.name for named in ir.DictAttr(each))
