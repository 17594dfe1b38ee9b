"""All pipelines and steps in Python of the project by name, for `unmess-opt`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from torch_mlir import ir

from pipelines import stages, to_linalg
from pipelines.attention_blocks import COMPUTE_BLOCKS_IN_ORDER
from pipelines.indices.checking import CHECK_INDICES
from pipelines.indices.divisions import CHECK_DIVISIONS
from pipelines.indices.sizes import CHECK_SIZES
from pipelines.indices.stablehlo import CHECK_STABLEHLO_INDICES
from pipelines.ir.lazy_dialects import func
from pipelines.ir.modules import entry_function
from pipelines.iree.assertions import ASSERTION_LINES, JOIN_ASSERTIONS
from pipelines.iree.bf16_conversions import CONVERT_THROUGH_F32
from pipelines.iree.boolean_bytes import KEEP_BOOLEANS_IN_BYTES
from pipelines.iree.buffer_limit import LIMIT_BUFFERS
from pipelines.iree.channels_last import CHANNELS_LAST, CHANNELS_LAST_FEW_REGISTERS
from pipelines.iree.concatenation import CONCATENATE_DYNAMIC_SIZES
from pipelines.iree.constant_operands import HIDE_CONSTANTS
from pipelines.iree.cropping import CROP_TO_WINDOWS
from pipelines.iree.elementary_functions import ELEMENTARY_FUNCTIONS
from pipelines.iree.image_tiles import TILE_IMAGES, TILE_IMAGES_FEW_REGISTERS
from pipelines.iree.loop_dispatch.rewrite import DISPATCH_LOOPS
from pipelines.iree.loops import rewrite_loops
from pipelines.iree.merge_sorts import MERGE_SORTS
from pipelines.iree.packed_operands import SEPARATE_PACKING
from pipelines.iree.packed_products import MULTIPLY_PACKED
from pipelines.iree.packed_results import SEPARATE_UNPACKING
from pipelines.iree.product_sums import KEEP_SUMS_OF_PRODUCTS
from pipelines.iree.row_tiles import TILE_ROWS, TILE_ROWS_FEW_REGISTERS
from pipelines.iree.seeds import KEEP_SEEDS_AS_NUMBERS
from pipelines.iree.softmax import KEEP_EXPONENTIALS
from pipelines.iree.sorts import KEEP_SORTED_VALUES
from pipelines.iree.stored_updates import STORE_UPDATES
from pipelines.iree.strided_reads import READ_WHOLE_TENSORS
from pipelines.iree.updates import keep_inputs
from pipelines.iree.wide_convolutions import WIDEN_CONVOLUTIONS
from pipelines.linalg_form.channels_last import NHWC
from pipelines.linalg_form.float8 import INLINE_FLOAT8_CASTS
from pipelines.linalg_form.propagation import GENERALIZE, PROPAGATE, SPECIALIZE
from pipelines.long_sums import LONG_SUMS
from pipelines.pipeline import Pipeline, Step
from pipelines.reference import lowering
from pipelines.reference.pipeline import PIPELINE, LoweringContext, lower_to_llvm
from pipelines.reference.schedules.machine import MACHINES
from pipelines.reference.steps.assertions import Assertions
from pipelines.reference.steps.elementwise import vectorize_elementwise
from pipelines.reference.steps.fusion import fuse
from pipelines.reference.steps.kernels import vectorize
from pipelines.reference.steps.narrow_products import keep_products_narrow
from pipelines.stablehlo.portable import PORTABLE
from pipelines.upstream.lowering import UPSTREAM
from unmess.core.ir.recognition import public_functions

PIPELINES: dict[str, Pipeline] = {
    pipeline.name: pipeline
    for pipeline in (
        stages.TORCH,
        stages.LINALG,
        stages.TOSA,
        stages.STABLEHLO,
        to_linalg.TOSA_TO_LINALG,
        to_linalg.STABLEHLO_TO_LINALG,
        PORTABLE,
        PROPAGATE,
        NHWC,
        GENERALIZE,
        SPECIALIZE,
        UPSTREAM,
        lowering.PREPARE,
        lowering.BUFFERIZE,
        lowering.MERGE_VIEWS,
        lowering.LLVM,
    )
}


def _keep_inputs(function: func.FuncOp) -> None:
    is_state = ["unmess.state" in attributes for attributes in function.arg_attrs]
    keep_inputs(function, is_state)


def _on_functions(rewrite: Callable[[func.FuncOp], None], module: ir.Module) -> None:
    """Applies a rewrite to all public functions. Barriers are unregistered operations."""
    module.context.allow_unregistered_dialects = True
    with module.context, ir.Location.unknown():
        for name in public_functions(module):
            rewrite(entry_function(module, name))


def _with_iree(step: Step, module: ir.Module) -> None:
    """Applies a step that creates operations or attributes of IREE, which are not registered."""
    module.context.allow_unregistered_dialects = True
    step.apply(module)


def _apply(step: Step, module: ir.Module) -> None:
    """Applies a step of any pipeline to a module from a file, for two threads."""
    if not step.takes_context:
        step.apply(module)
        return
    entries = public_functions(module)
    context = LoweringContext("module", Assertions(), entries, threads=2, level=2, of_bf16=True)
    step.apply(module, context)


# Steps that are not in a list.
_ALONE = (
    COMPUTE_BLOCKS_IN_ORDER,
    CHECK_DIVISIONS,
    CHECK_SIZES,
    CHECK_INDICES,
    CHECK_STABLEHLO_INDICES,
    JOIN_ASSERTIONS,
    ASSERTION_LINES,
    ELEMENTARY_FUNCTIONS,
    CONVERT_THROUGH_F32,
    WIDEN_CONVOLUTIONS,
    CROP_TO_WINDOWS,
    INLINE_FLOAT8_CASTS,
    LONG_SUMS,
    KEEP_SUMS_OF_PRODUCTS,
    READ_WHOLE_TENSORS,
)


def _steps() -> dict[str, Step]:
    """Returns the steps in Python by name; the first one of each name."""
    found: dict[str, Step] = {}
    for part in (*PIPELINES.values(), *PIPELINE, *_ALONE):
        for step in part.steps if isinstance(part, Pipeline) else (part,):
            if step.function is not None:
                found.setdefault(step.name, step)
    return found


# Functions that change a module in place, by name.
FUNCTIONS: dict[str, Callable[[ir.Module], object]] = {
    **{name: partial(_apply, step) for name, step in _steps().items()},
    **{
        f"reference-vectorize-{name}": partial(
            vectorize, machine=machine, deserves=lambda *_: True, calls={}
        )
        for name, machine in MACHINES.items()
    },
    **{
        f"reference-vectorize-elementwise-{name}": partial(vectorize_elementwise, machine=machine)
        for name, machine in MACHINES.items()
    },
    **{
        step.name: partial(_with_iree, step)
        for step in (
            DISPATCH_LOOPS,
            CHANNELS_LAST,
            CHANNELS_LAST_FEW_REGISTERS,
            HIDE_CONSTANTS,
            LIMIT_BUFFERS,
            KEEP_BOOLEANS_IN_BYTES,
            KEEP_EXPONENTIALS,
            CONCATENATE_DYNAMIC_SIZES,
            KEEP_SEEDS_AS_NUMBERS,
            KEEP_SORTED_VALUES,
            MERGE_SORTS,
            STORE_UPDATES,
            TILE_IMAGES,
            TILE_IMAGES_FEW_REGISTERS,
            TILE_ROWS,
            TILE_ROWS_FEW_REGISTERS,
            MULTIPLY_PACKED,
            SEPARATE_PACKING,
            SEPARATE_UNPACKING,
        )
    },
    "iree-keep-inputs": partial(_on_functions, _keep_inputs),
    "iree-rewrite-loops": partial(_on_functions, rewrite_loops),
    # The step does nothing on processors that do not multiply bf16.
    "reference-narrow-products": keep_products_narrow,
    "reference-fuse": lambda module: fuse(module, "module"),
    "reference": lambda module: lower_to_llvm(
        module, "module", Assertions(), public_functions(module)
    ),
}
