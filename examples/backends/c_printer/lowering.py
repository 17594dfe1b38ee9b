"""Lowers linalg-on-tensors to loops on buffers of static sizes."""

from torch_mlir import ir
from torch_mlir.dialects import bufferization
from torch_mlir.passmanager import PassManager

import unmess
from c_printer.types import check_value
from unmess.core.errors.user_source import location_line

# Inserts a cf.assert before each access. The range analysis removes those that hold.
VERIFICATION = "generate-runtime-verification"
PASSES = (
    "inline",
    "symbol-dce",
    "func.func(refback-generalize-tensor-pad)",
    "func.func(refback-generalize-tensor-concat)",
    "func.func(linalg-fuse-elementwise-ops)",
    "canonicalize",
    "func.func(empty-tensor-to-alloc-tensor)",
    "one-shot-bufferize{bufferize-function-boundaries allow-return-allocs-from-loops "
    "function-boundary-type-conversion=identity-layout-map}",
    "refback-mlprogram-bufferize",
    "buffer-results-to-out-params{hoist-static-allocs modify-public-functions}",
    "convert-bufferization-to-memref",
    "canonicalize",
    "func.func(convert-linalg-to-loops)",
    "fold-memref-alias-ops",
    VERIFICATION,
    "expand-strided-metadata",
    "lower-affine",
    "canonicalize",
    "int-range-optimizations",
    "canonicalize",
    "cse",
    "loop-invariant-code-motion",
)


def lower_to_loops(module, unchecked=False):
    """Lowers an `ir.Module` of one function in place. Results become arguments behind the others.

    Args:
        unchecked: whether checks of indices are omitted.

    Raises:
        unmess.Error: stage `compile`, for types and sizes that C lacks, and if a pass fails.
    """
    refuse_unsupported(module)
    with module.context:
        for function in module.body.operations:
            if function.operation.name == "func.func":
                # The caller owns the arguments, so bufferization must not write into them.
                read_only = ir.DictAttr.get({"bufferization.writable": ir.BoolAttr.get(False)})
                function.arg_attrs = [read_only] * len(function.arguments)
                _return_each_once(function)
        try:
            passes = ",".join(each for each in PASSES if not (unchecked and each == VERIFICATION))
            PassManager.parse(f"builtin.module({passes})").run(module.operation)
        except ir.MLIRError as problem:
            first = problem.error_diagnostics[0] if problem.error_diagnostics else problem
            raise unmess.Error(
                "compile",
                f"lowering to loops failed: {getattr(first, 'message', first)}",
                where=location_line(getattr(first, "location", "")),
                hint="the linalg IR is valid, but cannot become loops on static buffers",
            ) from problem


def _return_each_once(function):
    """Copies tensors that a function returns twice, because `PASSES` would crash on them."""
    *_, last = function.regions[0].blocks[0].operations
    seen = set()
    for position, value in enumerate(last.operands):
        if value in seen and isinstance(value.type, ir.RankedTensorType):
            with ir.InsertionPoint(last), last.operation.location:
                copy = bufferization.AllocTensorOp(value.type, [], copy=value)
            last.operation.operands[position] = copy.result
        seen.add(value)


def refuse_unsupported(module):
    """Raises an Error (`compile`) at the first value that has no C type or no static size."""
    problems = []

    def visit(operation):
        blocks = [block for region in operation.regions for block in region]
        try:
            for value in (*operation.results, *(each for one in blocks for each in one.arguments)):
                check_value(value)
        except unmess.Error as problem:
            # Exceptions do not pass through the bindings.
            problems.append(problem)
            return ir.WalkResult.INTERRUPT
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit, ir.WalkOrder.PRE_ORDER)
    if problems:
        raise problems[0]
