"""Fuses operations."""

from __future__ import annotations

import itertools
from functools import partial

from torch_mlir import ir

from pipelines.ir.contraction import find_contraction, indexing_maps
from pipelines.ir.generics import is_reduction
from pipelines.ir.lazy_dialects import arith, func
from pipelines.ir.modules import find_operations, replace_operations
from pipelines.ir.values import producer
from pipelines.linalg_form.float8 import expand_float8_casts
from pipelines.pipeline import Pipeline, Step
from pipelines.reference.steps.elementary_functions import expand_elementary_functions

# Operations that read each input many times. Their inputs are computed once, before.
_APART = (
    "linalg.batch_",
    "linalg.contract",
    "linalg.conv",
    "linalg.depthwise",
    "linalg.dot",
    "linalg.matmul",
    "linalg.matvec",
    "linalg.pooling",
    "linalg.quantized",
    "linalg.vecmat",
)
_pipeline = partial(
    Pipeline,
    stage="compile",
    hint="report this bug with the model",
    verify_each=False,
)

GENERALIZE = _pipeline(
    name="reference-generalize",
    steps=(
        Step(
            "func.func(linalg-generalize-named-ops)",
            "give all linalg operations one form, for fusion, schedules and loops",
        ),
    ),
)

FUSE = _pipeline(
    name="reference-fuse",
    steps=(
        Step(
            "func.func(linalg-fuse-elementwise-ops)",
            "fuse elementwise operations, to read and write memory less often",
        ),
        Step("inline", "inline separated operations and elementary functions"),
        Step("symbol-dce", "remove unused elementary functions"),
        Step("canonicalize", "fold the remaining operations of the fusion"),
        Step("cse", "merge equal index computations"),
    ),
)


def fuse(module: ir.Module, name: str) -> None:
    """Fuses elementwise operations with each other, and transpositions into their readers.

    Every linalg operation is a `linalg.generic` afterwards.
    """
    for part in FUSION:
        if isinstance(part, Pipeline):
            part.apply(module, name)
        else:
            part.apply(module)


def duplicate_widening_casts(module: ir.Module) -> None:
    """Gives each reader of a widened tensor its own widening, which fusion merges into it.

    The fusion pass skips operations with several readers. Reading the narrow elements again takes
    less memory traffic than reading wide ones. An example is a normalization's variance in f64.
    """
    found = find_operations(
        module, lambda operation: operation.name == "linalg.generic" and widens(operation)
    )
    with module.context:
        for operation in found:
            for use in list(operation.result.uses)[1:]:
                copy = operation.clone(ip=ir.InsertionPoint(operation))
                use.owner.operands[use.operand_number] = copy.operation.result


def widens(generic: ir.Operation) -> bool:
    """Returns whether a `linalg.generic` only widens the elements of a tensor."""
    body = list(generic.regions[0].blocks[0].operations)
    return (
        len(generic.operands) == 2
        and not is_reduction(generic)
        and len(body) == 2
        and body[0].operation.name in ("arith.extf", "arith.extsi", "arith.extui")
    )


def separate_product_operands(module: ir.Module) -> None:
    """Moves operations that must not be fused with their operands to functions of their own.

    The fusion pass would compute an activation again for each element of a product, and split the
    dimensions of a product if a reshape follows.
    """
    with module.context, ir.Location.unknown():
        numbers = itertools.count()
        replace_operations(
            find_operations(module, _stays_apart),
            lambda operation: _call(module, operation, f"apart_{next(numbers)}"),
        )


def _stays_apart(operation: ir.Operation) -> bool:
    if operation.name == "linalg.generic":
        return find_contraction(operation) is not None
    return operation.name.startswith(_APART)


def _call(module: ir.Module, operation: ir.Operation, name: str) -> list[ir.Value]:
    operands = list(dict.fromkeys(operation.operands))
    results = [result.type for result in operation.results]
    function = func.FuncOp(
        name,
        ([operand.type for operand in operands], results),
        visibility="private",
        ip=ir.InsertionPoint(module.body),
    )
    block = function.add_entry_block()
    with ir.InsertionPoint(block):
        copy = operation.clone()
        for index, operand in enumerate(operation.operands):
            copy.operation.operands[index] = block.arguments[operands.index(operand)]
        func.ReturnOp(list(copy.results))
    return list(func.CallOp(results, name, operands).results)


def fold_transpositions(module: ir.Module) -> None:
    """Folds transposes, broadcasts and widenings into the reductions that read them.

    The main case is the matrix of a linear layer, which PyTorch stores transposed. A copy that is
    made before a loop stays there, so that the loop reads the form that the program chose for it.
    """
    with module.context:
        for reader in find_operations(module, is_reduction):
            _fold_copies(reader)


def _fold_copies(reader: ir.Operation) -> None:
    maps = indexing_maps(reader)
    found = find_contraction(reader)
    for index in range(len(maps) - 1):
        source = producer(reader.operands[index])
        while (copied := _copied(source)) is not None and source.block == reader.block:
            original, before = copied
            narrow = ir.ShapedType(original.type).element_type
            widened = narrow != ir.ShapedType(reader.operands[index].type).element_type
            # Each number of the left operand is used for a whole vector, so widen it only once.
            if widened and (found is None or index != found.rhs):
                break
            composed = _composed(maps[index], before)
            if not _covered([*maps[:index], composed, *maps[index + 1 :]]):
                break
            maps[index] = composed
            reader.operands[index] = original
            if widened:
                _widen_inside(reader, index, narrow)
            reader.attributes["indexing_maps"] = ir.ArrayAttr.get(
                [ir.AffineMapAttr.get(indexing) for indexing in maps]
            )
            if not list(source.result.uses):
                source.erase()
            source = producer(original)


def _widen_inside(reader: ir.Operation, index: int, narrow: ir.Type) -> None:
    """Makes the body widen the elements of an operand, which is now narrow."""
    block = reader.regions[0].blocks[0]
    element = block.arguments[index]
    wide = element.type
    element.set_type(narrow)
    with ir.InsertionPoint.at_block_begin(block), reader.location:
        widening = arith.ExtFOp(wide, element)
    element.replace_all_uses_except(widening.result, [widening.operation])


def _copied(source: ir.Operation | None) -> tuple[ir.Value, ir.AffineMap] | None:
    """Returns the tensor that an operation only moves or widens, and its indexing map."""
    if source is None or source.name != "linalg.generic":
        return None
    maps = indexing_maps(source)
    body = source.regions[0].blocks[0]
    *before, last = [each.operation for each in body.operations]
    widens = len(before) == 1 and before[0].name == "arith.extf"
    value = before[0].operands[0] if widens else last.operands[0]
    if (
        len(maps) != 2
        or (before and not widens)
        or value != body.arguments[0]
        or maps[1] != ir.AffineMap.get_identity(maps[1].n_dims)
        or not all(isinstance(each, ir.AffineDimExpr) for each in maps[0].results)
    ):
        return None
    return source.operands[0], maps[0]


def _covered(maps: list[ir.AffineMap]) -> bool:
    """Returns whether each loop's range is the size of some operand's axis."""
    ranges = {
        expression.position
        for indexing in maps
        for expression in indexing.results
        if isinstance(expression, ir.AffineDimExpr)
    }
    return len(ranges) == maps[0].n_dims


def _composed(outer: ir.AffineMap, inner: ir.AffineMap) -> ir.AffineMap:
    """Returns `inner` applied to the results of `outer`. `inner` only selects dimensions."""
    results = list(outer.results)
    picked = [results[ir.AffineDimExpr(each).position] for each in inner.results]
    return ir.AffineMap.get(outer.n_dims, 0, picked)


FUSION: tuple[Pipeline | Step, ...] = (
    Step(
        "reference-set-apart",
        "separate the operands of matrix products, so that nothing is fused into the products",
        separate_product_operands,
    ),
    GENERALIZE,
    Step(
        "reference-elementary",
        "replace functions that are slow or inexact in the C library",
        expand_elementary_functions,
    ),
    Step(
        "reference-expand-float8",
        "lower casts from and to 8-bit floats to integer arithmetic",
        expand_float8_casts,
    ),
    Step(
        "reference-repeat-widenings",
        "repeat casts of narrow tensors in each of their readers",
        duplicate_widening_casts,
    ),
    FUSE,
    Step(
        "reference-fold-transpositions",
        "fold transpositions into their readers",
        fold_transpositions,
    ),
)
