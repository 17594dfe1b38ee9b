"""The passes from linalg-on-tensors to the LLVM dialect. `pipeline` has the steps between them."""

from __future__ import annotations

from functools import partial

from torch_mlir import ir

from pipelines.ir.modules import find_operations
from pipelines.pipeline import Pipeline, Step

_pipeline = partial(
    Pipeline,
    stage="compile",
    hint="the linalg IR is valid, but the reference runner cannot compile it: try --on iree-cpu",
    verify_each=False,
)

PREPARE = _pipeline(
    name="reference-prepare",
    steps=(
        Step(
            "func.func(refback-generalize-tensor-pad)", "lower tensor.pad to fill and insert_slice"
        ),
        Step("func.func(refback-generalize-tensor-concat)", "lower tensor.concat to insert_slice"),
        Step("func.func(linalg-generalize-named-ops)", "give the fills of paddings the same form"),
        Step(
            "func.func(tm-tensor-bufferize)", "bufferize scatter, scan, sort, top-k and attention"
        ),
    ),
)

BUFFERIZE = _pipeline(
    name="reference-bufferize",
    steps=(
        Step("empty-tensor-to-alloc-tensor", "let one-shot bufferization place all allocations"),
        Step(
            "one-shot-bufferize{bufferize-function-boundaries "
            "function-boundary-type-conversion=identity-layout-map "
            "allow-return-allocs-from-loops}",
            "bufferize with row-major entry points; copy only where values conflict",
        ),
        Step("refback-mlprogram-bufferize", "bufferize globals (random seeds)"),
        Step("func.func(tm-tensor-to-loops)", "lower tm_tensor operations to loops"),
        Step(
            "ownership-based-buffer-deallocation",
            "free every temporary on every path; the caller owns all results",
        ),
        Step("canonicalize", "fold ownership that is known at compile time"),
        Step("buffer-deallocation-simplification", "remove alias checks that can never succeed"),
        Step(
            "bufferization-lower-deallocations",
            "lower the other deallocations to control flow and free",
        ),
        Step(
            "convert-bufferization-to-memref", "lower clones of aliasing results to alloc and copy"
        ),
        Step(
            "func.func(refback-munge-memref-copy)",
            "lower copies to linalg instead of calls of the runtime",
        ),
        Step("cse", "merge equal address computations"),
        Step("canonicalize", "fold the remaining deallocations"),
    ),
)

MERGE_VIEWS = _pipeline(
    name="reference-merge-views",
    steps=(Step("cse", "merge equal views, so that operations in place have one buffer"),),
)

LLVM = _pipeline(
    name="reference-llvm",
    steps=(
        Step(
            "func.func(convert-linalg-to-loops)",
            "lower remaining linalg operations to scalar loops",
        ),
        Step(
            "func.func(convert-vector-to-scf{full-unroll=true})",
            "lower vectors with several dimensions",
        ),
        Step("convert-scf-to-cf", "lower loops to branches"),
        Step(
            "func.func(arith-expand{include-bf16=true})",
            "lower floor and ceil division, min and max, and conversions of bf16",
        ),
        Step("expand-strided-metadata", "lower views to address arithmetic"),
        Step("lower-affine", "lower affine.apply to arith"),
        Step(
            "func.func(convert-math-to-llvm{approximate-log1p=false})",
            "lower functions that have LLVM intrinsics",
        ),
        Step("convert-math-to-libm", "lower other functions to calls of the C library"),
        Step("convert-vector-to-llvm", "lower vectors to LLVM"),
        Step("convert-ub-to-llvm", "lower undefined values of masked reads"),
        Step("convert-complex-to-llvm", "lower complex numbers to pairs"),
        Step(
            "finalize-memref-to-llvm{use-aligned-alloc use-generic-functions}",
            "lower memrefs to descriptors, with the runtime's allocation functions",
        ),
        Step("func.func(convert-arith-to-llvm)", "arithmetic"),
        Step("convert-func-to-llvm", "lower functions, with C interfaces"),
        Step("convert-cf-to-llvm", "branches"),
        Step("reconcile-unrealized-casts", "verify that no conversion is left incomplete"),
    ),
)


def mark_unaliased(module: ir.Module) -> None:
    """Marks the results of tm_tensor operations as not aliasing anything.

    `tm-tensor-bufferize` gives each of them memory of its own, but does not mark it in the IR.
    One-shot bufferization fails without the mark.
    """
    with module.context:
        for view in find_operations(module, lambda each: each.name == "bufferization.to_tensor"):
            view.attributes["restrict"] = ir.UnitAttr.get()


def sink_views(module: ir.Module) -> None:
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
