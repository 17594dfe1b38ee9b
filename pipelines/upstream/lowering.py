"""Lowers torch-mlir's linalg to operations that upstream MLIR has."""

from __future__ import annotations

from collections.abc import Callable, Collection

from torch_mlir import ir

from pipelines.ir.modules import find_operations, replace_operations
from pipelines.pipeline import Pipeline, Step
from pipelines.upstream.attention import rewrite_attention
from pipelines.upstream.booleans import keep_booleans_in_bytes
from pipelines.upstream.newer import drop_newer_attributes
from pipelines.upstream.sort import rewrite_sort
from pipelines.upstream.tm_tensor import rewrite_scan, rewrite_scatter, rewrite_topk
from unmess.core.errors.error import Error
from unmess.core.errors.user_source import location_line

# For each operation, a function that creates its results at the insertion point.
REWRITES: dict[str, Callable[[ir.Operation], list[ir.Value]]] = {
    "tm_tensor.attention": rewrite_attention,
    "tm_tensor.scan": rewrite_scan,
    "tm_tensor.scatter": rewrite_scatter,
    "tm_tensor.sort": rewrite_sort,
    "tm_tensor.topk": rewrite_topk,
}
# Dialects that torch-mlir registers, or may leave in the IR, and upstream MLIR does not have.
_FOREIGN = ("chlo", "stablehlo", "tm_tensor", "torch", "torch_c", "vhlo")


def rewrite_tm_tensor(module: ir.Module, names: Collection[str] = REWRITES) -> None:
    """Rewrites `tm_tensor` operations of these names to linalg and scf on tensors, in place."""
    with module.context:
        found = find_operations(module, lambda operation: operation.name in names)
        replace_operations(found, lambda operation: REWRITES[operation.name](operation))


def refuse_foreign(module: ir.Module) -> None:
    """Raises an Error if an operation is left that upstream MLIR does not have."""
    found = find_operations(module, lambda operation: operation.name.split(".")[0] in _FOREIGN)
    if found:
        first, *others = dict.fromkeys(operation.name for operation in found)
        more = f" (and {len(others)} others)" if others else ""
        raise Error(
            "linalg",
            f"upstream MLIR does not have {first}{more}, and unmess cannot rewrite it to linalg",
            where=next((line for each in found if (line := location_line(each.location))), None),
            hint="run `unmess portable` to list all such operations; write the model with "
            "simpler operators",
        )


UPSTREAM = Pipeline(
    name="upstream",
    stage="linalg",
    hint="report this bug with the model",
    steps=(
        Step(
            "upstream-tm-tensor",
            "lower sort, scan, scatter, top-k and attention to linalg and loops",
            rewrite_tm_tensor,
        ),
        Step(
            "upstream-booleans",
            "store booleans in bytes: tools disagree about the memory layout of i1",
            keep_booleans_in_bytes,
        ),
        Step("canonicalize", "fold sizes and constants of the loops"),
        Step("cse", "merge equal operations"),
        Step(
            "upstream-newer",
            "remove attributes that upstream does not have and that repeat a default",
            drop_newer_attributes,
        ),
        Step(
            "upstream-refuse",
            "report remaining operations that upstream does not have",
            refuse_foreign,
        ),
    ),
)


def lower_to_upstream(module: ir.Module, name: str = "module") -> bool:
    """Rewrites operations and types that upstream MLIR does not have, in place.

    Args:
        module: a module at the stage `linalg`.
        name: the name of the model, for reproducers.

    Returns:
        Whether a signature changed: booleans in arguments and results become bytes.

    Raises:
        Error: stage `linalg`, with the operation and its source line, if it cannot be rewritten.
    """
    before = _signatures(module)
    UPSTREAM.apply(module, name)
    return _signatures(module) != before


def _signatures(module: ir.Module) -> list[str]:
    functions = find_operations(module, lambda operation: operation.name == "func.func")
    return [str(function.attributes["function_type"]) for function in functions]
