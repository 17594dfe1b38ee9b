"""Keeps IREE from making vector contractions of sums of products.

IREE turns a sum of products over several axes into `vector.contract`. If one factor has only some
of the axes, as in `(x * weight).sum()`, the contraction is invalid, and the program does not
compile. With an operation between product and sum, it stays a reduction: this step adds 0 to each
product. No sum changes, because sums begin with 0.
"""

from __future__ import annotations

from torch_mlir import ir

from pipelines.ir.lazy_dialects import arith
from pipelines.ir.modules import find_operations
from pipelines.ir.values import producer, producer_named, terminator
from pipelines.pipeline import Step

_GENERIC = "linalg.generic"
_LEAST_AXES = 2


def keep_sums_of_products(module: ir.Module) -> None:
    """Adds 0 to each product that a reduction over several axes adds. Changes `linalg` in place."""
    with module.context:
        for operation in find_operations(module, lambda each: each.name == _GENERIC):
            if (found := _addition(operation)) is not None:
                _add_zero(*found)


def _addition(operation: ir.Operation) -> tuple[ir.Operation, ir.Value] | None:
    """Returns the addition of a reduction over several axes, and the product that it adds.

    Returns None for operations that are no such sum.
    """
    kinds = [str(each) for each in ir.ArrayAttr(operation.attributes["iterator_types"])]
    if sum("reduction" in kind for kind in kinds) < _LEAST_AXES or len(operation.results) != 1:
        return None
    body = operation.regions[0].blocks[0]
    addition = producer_named(terminator(body).operands[0], "arith.addf")
    if addition is None or body.arguments[-1] not in list(addition.operands):
        return None
    terms = [each for each in addition.operands if each != body.arguments[-1]]
    if len(terms) != 1 or not _is_product(terms[0], operation):
        return None
    return addition, terms[0]


def _is_product(term: ir.Value, operation: ir.Operation) -> bool:
    """Returns whether a value of a body is a product, or an element of a tensor of products."""
    if producer(term) is not None:
        return producer_named(term, "arith.mulf") is not None
    tensor = operation.operands[ir.BlockArgument(term).arg_number]
    generic = producer_named(tensor, _GENERIC)
    if generic is None:
        return False
    results = terminator(generic.regions[0].blocks[0]).operands
    return producer_named(results[ir.OpResult(tensor).result_number], "arith.mulf") is not None


def _add_zero(addition: ir.Operation, term: ir.Value) -> None:
    with ir.InsertionPoint(addition), addition.location:
        zero = arith.ConstantOp(term.type, ir.FloatAttr.get(term.type, 0.0)).result
        kept = arith.AddFOp(term, zero).result
    for number, operand in enumerate(addition.operands):
        if operand == term:
            addition.operands[number] = kept


KEEP_SUMS_OF_PRODUCTS = Step(
    "iree-keep-sums-of-products",
    "add 0 to products that are summed over several axes: IREE makes invalid contractions of them",
    keep_sums_of_products,
)
