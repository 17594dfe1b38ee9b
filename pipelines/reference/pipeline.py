"""The steps from linalg-on-tensors to the LLVM dialect, in order."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from torch_mlir import ir

from pipelines.attention_blocks import COMPUTE_BLOCKS_IN_PARALLEL
from pipelines.long_sums import LONG_SUMS
from pipelines.pipeline import Pipeline, Step
from pipelines.reference.analysis.effort import (
    calls_by_function,
    deserves_schedule,
    optimization_level,
)
from pipelines.reference.lowering import (
    BUFFERIZE,
    LLVM,
    MERGE_VIEWS,
    PREPARE,
    mark_unaliased,
    protect_arguments,
    sink_views,
)
from pipelines.reference.schedules.machine import host_machine
from pipelines.reference.steps.assertions import Assertions
from pipelines.reference.steps.attention_weights import clear_small_weights
from pipelines.reference.steps.bf16 import (
    compute_in_f32,
    has_bf16,
    keep_in_integers,
    narrow_through_f32,
)
from pipelines.reference.steps.checks import insert_checks
from pipelines.reference.steps.collapsing import collapse_loops
from pipelines.reference.steps.destinations import choose_destinations
from pipelines.reference.steps.elementwise import vectorize_elementwise
from pipelines.reference.steps.fills import repeat_fills, restore_zeros, start_at_zero
from pipelines.reference.steps.fusion import FUSION
from pipelines.reference.steps.integer_loops import INTEGER_LOOPS
from pipelines.reference.steps.kernels import vectorize
from pipelines.reference.steps.library_functions import replace_library_functions
from pipelines.reference.steps.lifetimes import free_after_last_use
from pipelines.reference.steps.llvm_attributes import annotate, reassociate
from pipelines.reference.steps.merging import merge_parts
from pipelines.reference.steps.narrow_products import keep_products_narrow
from pipelines.reference.steps.outlining import outline
from pipelines.reference.steps.parallel_loops import turn_into_parts
from pipelines.reference.steps.pointers import pass_pointers, take_operands_by_address
from pipelines.reference.steps.private_buffers import privatize
from pipelines.reference.steps.rows import fuse_row_loops
from pipelines.reference.steps.shared_memory import share_memory
from pipelines.reference.steps.sorts import sort_rows
from pipelines.reference.steps.splitting import split
from pipelines.reference.steps.tasks import dispatch, outline_tasks
from pipelines.reference.steps.winograd import choose_winograd


@dataclass
class LoweringContext:
    """The data of a program that steps use besides its IR.

    Attributes:
        name: of the model, for reproducers.
        assertions: collects the run-time checks.
        entries: the functions that are called from outside.
        threads: the number of threads for large operations.
        unchecked: whether checks of divisors, indices and sizes are omitted.
        level: LLVM's optimization level; set by a step.
        workspaces: the bytes of memory for temporaries that the caller passes to each entry
            function as its last argument; set by a step. There is no argument for 0 bytes.
        of_bf16: whether it computes with bf16; set by a step.
    """

    name: str
    assertions: Assertions
    entries: Iterable[str]
    threads: int
    unchecked: bool = False
    level: int = 0
    workspaces: dict[str, int] = field(default_factory=dict)
    of_bf16: bool = False


def _check(module: ir.Module, context: LoweringContext) -> None:
    if not context.unchecked:
        insert_checks(module)


def _measure(module: ir.Module, context: LoweringContext) -> None:
    context.level = optimization_level(module)


def _replace_library_functions(module: ir.Module, context: LoweringContext) -> None:
    if context.level:
        replace_library_functions(module)


def _keep_products_narrow(module: ir.Module) -> None:
    machine = host_machine()
    if machine.pairs or machine.tiles:
        keep_products_narrow(module)


def _look_for_bf16(module: ir.Module, context: LoweringContext) -> None:
    context.of_bf16 = has_bf16(module)


def _vectorize(module: ir.Module, context: LoweringContext) -> None:
    if context.level:
        vectorize(module, host_machine(), deserves_schedule, calls_by_function(module))


def _vectorize_elementwise(module: ir.Module, context: LoweringContext) -> None:
    if context.level:
        vectorize_elementwise(module, host_machine())


def _share_memory(module: ir.Module, context: LoweringContext) -> None:
    context.workspaces = share_memory(module, context.entries)


def _compute_in_f32(module: ir.Module, context: LoweringContext) -> None:
    if context.of_bf16:
        compute_in_f32(module)


def _keep_in_integers(module: ir.Module, context: LoweringContext) -> None:
    if context.of_bf16:
        keep_in_integers(module)


def _replace_checks(module: ir.Module, context: LoweringContext) -> None:
    context.assertions.replace_checks(module)


def _replace_allocations(module: ir.Module, context: LoweringContext) -> None:
    context.assertions.replace_allocations(module)


PIPELINE: tuple[Pipeline | Step, ...] = (
    LONG_SUMS,
    Step(
        "reference-narrow-products",
        "let products read bf16, if the processor multiplies it",
        _keep_products_narrow,
    ),
    Step(
        "reference-attention-weights",
        "replace subnormal attention weights by zero: products of them are slow",
        clear_small_weights,
    ),
    *FUSION,
    COMPUTE_BLOCKS_IN_PARALLEL,
    INTEGER_LOOPS,
    Step(
        "reference-sorts",
        "replace tm_tensor.sort by a merge sort or a selection in each row, in parallel: its own "
        "lowering takes n² comparisons",
        sort_rows,
    ),
    PREPARE,
    Step(
        "reference-effort",
        "choose LLVM's optimization level by the work of the program",
        _measure,
        takes_context=True,
    ),
    Step(
        "reference-library-functions",
        "replace functions of the C library by arithmetic that LLVM can vectorize",
        _replace_library_functions,
        takes_context=True,
    ),
    Step("reference-unaliased", "mark results of tm_tensor as not aliased", mark_unaliased),
    Step(
        "reference-read-where-used",
        "create views next to their readers, so that their memory is not reused before",
        sink_views,
    ),
    Step(
        "reference-repeat-fills",
        "repeat fills for each operation that writes to the filled tensor, instead of copies",
        repeat_fills,
    ),
    Step(
        "reference-start-at-zero",
        "mark products and convolutions that start at zero, and remove the zeros",
        start_at_zero,
    ),
    Step(
        "reference-destinations",
        "write elementwise results into paddings, or over operands that nothing else reads",
        choose_destinations,
    ),
    Step("reference-protect", "forbid writing to arguments other than state", protect_arguments),
    BUFFERIZE,
    Step(
        "reference-parallel-loops",
        "turn parallel loops into loops over parts, which threads share",
        turn_into_parts,
    ),
    Step(
        "reference-checks",
        "insert run-time checks of divisors, indices and sizes that depend on data",
        _check,
        takes_context=True,
    ),
    Step(
        "reference-number-checks",
        "number the checks, before equal operations share one function",
        lambda module, context: context.assertions.number_checks(module),
        takes_context=True,
    ),
    Step(
        "reference-join-rows",
        "join loops over the same large rows",
        fuse_row_loops,
    ),
    Step(
        "reference-collapse",
        "collapse contiguous loops, so that they are long enough for vectors",
        collapse_loops,
    ),
    Step(
        "reference-winograd",
        "choose the convolutions that need fewer products with Winograd's algorithm",
        choose_winograd,
    ),
    Step(
        "reference-split",
        "split large operations among threads, and batches into images",
        lambda module, context: split(module, context.threads),
        takes_context=True,
    ),
    Step(
        "reference-merge-parts",
        "merge neighboring loops over parts, so that threads wait for each other less often",
        merge_parts,
    ),
    Step(
        "reference-private-buffers",
        "give each part its own temporaries, which stay in the cache",
        privatize,
    ),
    MERGE_VIEWS,
    Step("reference-outline", "outline operations; equal ones share one function", outline),
    Step(
        "reference-lifetimes",
        "free temporaries after their last use instead of at the end",
        free_after_last_use,
    ),
    Step("reference-outline-tasks", "outline the work of each thread", outline_tasks),
    Step(
        "reference-share-memory",
        "place temporaries of fixed size in memory that the caller passes",
        _share_memory,
        takes_context=True,
    ),
    Step(
        "reference-reassociate",
        "allow reassociation of sums, as in eager's own kernels",
        reassociate,
    ),
    Step(
        "reference-narrow",
        "convert f64 to 16-bit floats via f32, as in eager",
        narrow_through_f32,
    ),
    Step(
        "reference-look-for-bf16",
        "detect bf16, which some of the next steps are for",
        _look_for_bf16,
        takes_context=True,
    ),
    Step(
        "reference-vectorize",
        "create vector kernels for this processor where they save time",
        _vectorize,
        takes_context=True,
    ),
    Step(
        "reference-vectorize-elementwise",
        "create vector code for elementwise operations",
        _vectorize_elementwise,
        takes_context=True,
    ),
    Step(
        "reference-restore-zeros",
        "fill the results of the other products with zeros",
        restore_zeros,
    ),
    Step(
        "reference-bf16-arithmetic",
        "compute bf16 operations in f32",
        _compute_in_f32,
        takes_context=True,
    ),
    Step(
        "reference-pointers",
        "pass pointers to outlined functions, where their types determine the sizes",
        pass_pointers,
    ),
    Step(
        "reference-entries",
        "pass the operands of entry points by address",
        lambda module, context: take_operands_by_address(module, context.entries),
        takes_context=True,
    ),
    Step(
        "reference-failures",
        "make a failed check end the call instead of the process",
        _replace_checks,
        takes_context=True,
    ),
    LLVM,
    Step(
        "reference-allocations",
        "take allocations from the caller",
        _replace_allocations,
        takes_context=True,
    ),
    Step("reference-dispatch", "dispatch tasks to the runtime's threads", dispatch),
    Step(
        "reference-bf16-bits",
        "store bf16 as 16-bit integers",
        _keep_in_integers,
        takes_context=True,
    ),
    Step("reference-annotate", "add LLVM attributes to outlined functions", annotate),
)


def lower_to_llvm(
    module: ir.Module,
    name: str,
    assertions: Assertions,
    entries: Iterable[str],
    threads: int = 1,
    unchecked: bool = False,
) -> LoweringContext:
    """Lowers linalg-on-tensors to the LLVM dialect in place.

    `LoweringContext` describes the arguments, and the result.

    Raises:
        Error: stage `compile`.
    """
    context = LoweringContext(name, assertions, entries, threads, unchecked)
    for part in PIPELINE:
        if isinstance(part, Pipeline):
            part.apply(module, name)
        else:
            part.apply(module, *([context] if part.takes_context else []))
    return context
