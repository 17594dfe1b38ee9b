"""Sets LLVM's attributes on functions, and allows reassociation of reductions.

A sum along the innermost dimension is a chain of dependent additions. LLVM may split it into as
many partial sums as fill its vectors, which also makes the error smaller. Nothing else is
reassociated.
"""

from __future__ import annotations

import math

from torch_mlir import ir

from pipelines.ir.contraction import loop_sizes
from pipelines.ir.generics import is_reduction
from pipelines.ir.modules import find_operations
from pipelines.ir.values import producer_named, terminator
from pipelines.reference.runtime import ALLOCATE, FAIL
from pipelines.reference.steps.assertions import CHECK
from pipelines.reference.steps.outlining import NO_ALIAS, OUTLINED

# Number of iterations of the loops of a sum up to which LLVM may unroll all of them. It then
# vectorizes the loop over the results, and adds the elements of the results behind the last whole
# vector in another order. So the order would depend on the number of results in a part.
_SHORT = 64


def annotate(module: ir.Module) -> None:
    """Replaces the marks of outlined functions with LLVM's attributes.

    Checks are always inlined, and other functions never: the inliner would move all outlined
    functions back into one. Disables the optimization of their callers. These only contain calls,
    and LLVM would need longer to optimize them than everything else.
    """
    with module.context:
        unit = ir.UnitAttr.get()
        for function in module.body.operations:
            if function.operation.name != "llvm.func":
                continue
            if not function.regions[0].blocks:
                _describe(function)
                continue
            attributes = function.attributes
            if ir.StringAttr(attributes["sym_name"]).value == CHECK:
                # Code generation may move a division to before a call in the same basic block, but
                # not to before the branch of the inlined check.
                attributes["always_inline"] = unit
                continue
            attributes["no_inline"] = unit
            if OUTLINED not in attributes:
                attributes["optimize_none"] = unit
                continue
            del attributes[OUTLINED]
            if NO_ALIAS in attributes:
                del attributes[NO_ALIAS]
                _mark_pointers(function)


def _describe(function: ir.OpView) -> None:
    """Sets the attributes of a function of the runtime."""
    name = ir.StringAttr(function.attributes["sym_name"]).value
    if name == FAIL:
        words = [ir.StringAttr.get(word) for word in ("cold", "noreturn")]
        function.attributes["passthrough"] = ir.ArrayAttr.get(words)
    elif name == ALLOCATE:
        result = ir.DictAttr.get({"llvm.noalias": ir.UnitAttr.get()})
        function.attributes["res_attrs"] = ir.ArrayAttr.get([result])


def _mark_pointers(function: ir.OpView) -> None:
    mark = ir.DictAttr.get({"llvm.noalias": ir.UnitAttr.get()})
    none = ir.DictAttr.get({})
    arguments = function.regions[0].blocks[0].arguments
    function.attributes["arg_attrs"] = ir.ArrayAttr.get(
        [mark if str(argument.type) == "!llvm.ptr" else none for argument in arguments]
    )


def reassociate(module: ir.Module) -> None:
    """Marks the additions and multiplications that accumulate a result of a linalg operation.

    Short sums are not marked.
    """
    with module.context:
        for generic in find_operations(module, is_reduction):
            if not is_short(generic):
                _mark(generic)


def is_short(generic: ir.Operation) -> bool:
    """Returns whether LLVM may unroll all loops of a reduction. It does not vectorize them then."""
    kinds = [str(kind) for kind in ir.ArrayAttr(generic.attributes["iterator_types"])]
    outermost = next(position for position, kind in enumerate(kinds) if "reduction" in kind)
    sizes = loop_sizes(generic)[outermost:]
    return None not in sizes and math.prod(sizes) <= _SHORT


def _mark(generic: ir.Operation) -> None:
    block = generic.regions[0].blocks[0]
    yielded = terminator(block).operands
    outputs = list(block.arguments)[-len(yielded) :]
    for output, value in zip(outputs, yielded, strict=True):
        last = producer_named(value, "arith.addf", "arith.mulf")
        if last is not None and output in list(last.operands):
            last.attributes["fastmath"] = ir.Attribute.parse("#arith.fastmath<reassoc>")
