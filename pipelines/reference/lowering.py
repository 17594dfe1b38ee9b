"""The passes from linalg-on-tensors to the LLVM dialect. `order` has the steps between them."""

from __future__ import annotations

from torch_mlir import ir

from pipelines.debugging import step
from pipelines.ir_modules import find_operations
from pipelines.pipeline import Pipeline, Step

_HINT = "the linalg form is fine, the reference runner cannot take it further: try --on iree-cpu"

PREPARE = Pipeline(
    name="reference-prepare",
    stage="compile",
    hint=_HINT,
    verify_each=False,
    steps=(
        Step("func.func(refback-generalize-tensor-pad)", "tensor.pad to fill and insert_slice"),
        Step("func.func(refback-generalize-tensor-concat)", "tensor.concat to insert_slice"),
        Step("func.func(tm-tensor-bufferize)", "scatter, scan, sort, topk, attention"),
    ),
)

BUFFERIZE = Pipeline(
    name="reference-bufferize",
    stage="compile",
    hint=_HINT,
    verify_each=False,
    steps=(
        Step("empty-tensor-to-alloc-tensor", "one-shot bufferization places every allocation"),
        Step(
            "one-shot-bufferize{bufferize-function-boundaries "
            "function-boundary-type-conversion=identity-layout-map "
            "allow-return-allocs-from-loops}",
            "row-major memory at the boundary, copies only where values conflict",
        ),
        Step("refback-mlprogram-bufferize", "globals (random seeds) to memory"),
        Step("func.func(tm-tensor-to-loops)", "what tm_tensor computes, as loops"),
        Step(
            "ownership-based-buffer-deallocation",
            "every temporary is freed on every path, and the caller owns every result",
        ),
        Step("canonicalize", "ownership that is known at compile time goes"),
        Step("buffer-deallocation-simplification", "no run-time alias checks where none can be"),
        Step("bufferization-lower-deallocations", "the rest to plain control flow and free"),
        Step("convert-bufferization-to-memref", "clones of results that alias to alloc and copy"),
        Step("func.func(refback-munge-memref-copy)", "copies as linalg, not as a runtime call"),
        Step("cse", "equal address computations once"),
        Step("canonicalize", "folds what deallocation left"),
    ),
)

LLVM = Pipeline(
    name="reference-llvm",
    stage="compile",
    hint=_HINT,
    verify_each=False,
    steps=(
        Step("func.func(convert-linalg-to-loops)", "scalar loops"),
        Step("func.func(convert-vector-to-scf{full-unroll=true})", "vectors of several dimensions"),
        Step("convert-scf-to-cf", "loops to branches"),
        Step(
            "func.func(arith-expand{include-bf16=true})",
            "ceil and floor division, min and max, conversions of bf16",
        ),
        Step("expand-strided-metadata", "views to address arithmetic"),
        Step("lower-affine", "affine.apply to arith"),
        Step(
            "func.func(convert-math-to-llvm{approximate-log1p=false})",
            "what LLVM has intrinsics for",
        ),
        Step("convert-math-to-libm", "the rest from the C library"),
        Step("convert-vector-to-llvm", "vectors that are as long as registers, or a few of them"),
        Step("convert-ub-to-llvm", "what masked reads leave undefined"),
        Step("convert-complex-to-llvm", "complex numbers to pairs"),
        Step(
            "finalize-memref-to-llvm{use-aligned-alloc use-generic-functions}",
            "memrefs to descriptors, memory from our own functions; axes are still constants",
        ),
        Step("func.func(convert-arith-to-llvm)", "arithmetic"),
        Step("convert-func-to-llvm", "functions, with C interfaces"),
        Step("convert-cf-to-llvm", "branches"),
        Step("reconcile-unrealized-casts", "nothing may be left half converted"),
    ),
)


@step("reference-unaliased")
def mark_unaliased(module: ir.Module) -> None:
    """Marks the results of tm_tensor operations as not aliasing anything.

    `tm-tensor-bufferize` gives each of them memory of its own, but does not mark it in the IR.
    One-shot bufferization fails without the mark.
    """

    def visit(operation: ir.Operation) -> ir.WalkResult:
        if operation.name == "bufferization.to_tensor":
            operation.attributes["restrict"] = ir.UnitAttr.get()
        return ir.WalkResult.ADVANCE

    with module.context:
        module.operation.walk(visit)


@step("reference-read-where-used")
def read_where_used(module: ir.Module) -> None:
    """Puts a view of a tensor's memory right before each operation that uses it.

    `tm-tensor-bufferize` creates one view where the tensor is defined. One-shot bufferization
    treats that view as the only read, and reuses the memory before later operations read it.
    """
    views = find_operations(
        module,
        lambda operation: operation.name in ("bufferization.to_buffer", "bufferization.to_memref"),
    )
    with module.context:
        for view in views:
            for use in list(view.result.uses):
                reader = use.owner
                own = view.clone(ip=ir.InsertionPoint(reader))
                reader.operands[use.operand_number] = own.result
            view.erase()


@step("reference-protect")
def protect_arguments(module: ir.Module) -> None:
    """Marks all arguments of functions as read-only, except state, which the function replaces.

    Without the mark, one-shot bufferization may write to arguments in place. The Executable owns
    the state, but inputs belong to the caller and weights to the model.
    """
    with module.context:
        read_only = {"bufferization.writable": ir.BoolAttr.get(False)}
        for function in module.body.operations:
            if function.operation.name == "func.func":
                function.arg_attrs = [
                    attributes if "unmess.state" in attributes else _with(attributes, read_only)
                    for attributes in function.arg_attrs
                ]


def _with(attributes: ir.DictAttr, more: dict[str, ir.Attribute]) -> ir.DictAttr:
    return ir.DictAttr.get({named.name: named.attr for named in attributes} | more)
