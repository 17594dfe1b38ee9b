"""The steps from linalg-on-tensors to the LLVM dialect, in order."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from torch_mlir import ir

from pipelines.debugging import step
from pipelines.pipeline import Pipeline, Rewrite
from pipelines.reference.analysis.effort import deserves_schedule, optimization_level
from pipelines.reference.lowering import (
    BUFFERIZE,
    LLVM,
    PREPARE,
    mark_unaliased,
    protect_arguments,
    read_where_used,
)
from pipelines.reference.schedules.machine import host_machine
from pipelines.reference.steps.assertions import Assertions
from pipelines.reference.steps.bf16 import compute_in_f32, has_bf16, keep_in_integers
from pipelines.reference.steps.checks import insert_checks
from pipelines.reference.steps.collapsing import collapse_loops
from pipelines.reference.steps.entry_points import take_operands_by_address
from pipelines.reference.steps.fusion import FUSION
from pipelines.reference.steps.kernels import vectorize
from pipelines.reference.steps.lifetimes import free_after_last_use
from pipelines.reference.steps.llvm_attributes import annotate
from pipelines.reference.steps.narrowing import convert_by_way_of_f32
from pipelines.reference.steps.outlining import outline
from pipelines.reference.steps.pointers import pass_pointers
from pipelines.reference.steps.reassociation import reassociate
from pipelines.reference.steps.rows import join_rows
from pipelines.reference.steps.splitting import split
from pipelines.reference.steps.tasks import dispatch, outline_tasks
from pipelines.upstream.lowering import rewrite_tm_tensor


@dataclass
class Job:
    """The data of a program that steps use besides its IR.

    Attributes:
        name: of the model, for reproducers.
        assertions: collects the run-time checks.
        entries: the functions that are called from outside.
        threads: the number of threads for large operations.
        unchecked: whether checks of divisors, indices and sizes are omitted.
        level: LLVM's optimization level; set by a step.
        of_bf16: whether it computes with bf16; set by a step.
    """

    name: str
    assertions: Assertions
    entries: Iterable[str]
    threads: int
    unchecked: bool = False
    level: int = 0
    of_bf16: bool = False


@dataclass(frozen=True)
class Part:
    """A step in Python that takes the job as well; otherwise like a Rewrite."""

    name: str
    why: str
    function: Callable[[ir.Module, Job], object]


@step("reference-sorts")
def merge_rows(module: ir.Module) -> None:
    """Rewrites `tm_tensor.sort` in place."""
    rewrite_tm_tensor(module, ("tm_tensor.sort",))


def _check(module: ir.Module, job: Job) -> None:
    if not job.unchecked:
        insert_checks(module)


def _measure(module: ir.Module, job: Job) -> None:
    job.level = optimization_level(module)


def _look_for_bf16(module: ir.Module, job: Job) -> None:
    job.of_bf16 = has_bf16(module)


def _vectorize(module: ir.Module, job: Job) -> None:
    if job.level:
        vectorize(module, host_machine(), deserves_schedule)


def _compute_in_f32(module: ir.Module, job: Job) -> None:
    if job.of_bf16:
        compute_in_f32(module)


def _keep_in_integers(module: ir.Module, job: Job) -> None:
    if job.of_bf16:
        keep_in_integers(module)


def _replace_checks(module: ir.Module, job: Job) -> None:
    step("reference-failures")(job.assertions.replace_checks)(module)


def _replace_allocations(module: ir.Module, job: Job) -> None:
    step("reference-allocations")(job.assertions.replace_allocations)(module)


ORDER: tuple[Pipeline | Rewrite | Part, ...] = (
    *FUSION,
    Rewrite(
        "reference-sorts",
        "rows are merged, n log n: the loops that tm_tensor.sort has compare neighbours, n² times",
        merge_rows,
    ),
    PREPARE,
    Part("reference-effort", "how far it is worth to optimize is counted", _measure),
    Rewrite("reference-unaliased", "results of tm_tensor alias nothing", mark_unaliased),
    Rewrite(
        "reference-read-where-used",
        "a view of memory is taken where it is read, so that memory is not used again before",
        read_where_used,
    ),
    Rewrite("reference-protect", "nothing writes an argument but state", protect_arguments),
    BUFFERIZE,
    Part(
        "reference-checks",
        "divisors, indices and sizes that are data are checked when the program runs",
        _check,
    ),
    Part(
        "reference-number-checks",
        "checks know their lines, before operations that are equal share a function",
        lambda module, job: job.assertions.number_checks(module),
    ),
    Rewrite(
        "reference-join-rows",
        "operations that work on the same large rows go through them together",
        join_rows,
    ),
    Rewrite(
        "reference-collapse",
        "loops without a gap become one, long enough for vectors",
        collapse_loops,
    ),
    Part(
        "reference-split",
        "large operations are shared out among threads",
        lambda module, job: split(module, job.threads),
    ),
    Rewrite("reference-outline", "operations that are equal share one function", outline),
    Rewrite(
        "reference-lifetimes",
        "temporaries are freed after their last use, not at the end",
        free_after_last_use,
    ),
    Rewrite("reference-outline-tasks", "what a thread does is a function", outline_tasks),
    Rewrite(
        "reference-reassociate",
        "sums may be added up in any order, as eager's own kernels do",
        reassociate,
    ),
    Rewrite(
        "reference-narrow", "f64 becomes 16 bits by way of f32, as in eager", convert_by_way_of_f32
    ),
    Part("reference-look-for-bf16", "whether the next steps are needed", _look_for_bf16),
    Part("reference-vectorize", "kernels for this processor, where they are worth it", _vectorize),
    Part("reference-bf16-arithmetic", "bf16 is computed in f32", _compute_in_f32),
    Rewrite(
        "reference-pointers",
        "outlined functions take a pointer where the type says the rest",
        pass_pointers,
    ),
    Part(
        "reference-entries",
        "entry points take their operands by address",
        lambda module, job: take_operands_by_address(module, job.entries),
    ),
    Part(
        "reference-failures", "a check that fails ends the call, not the process", _replace_checks
    ),
    LLVM,
    Part("reference-allocations", "allocations come from the caller", _replace_allocations),
    Rewrite("reference-dispatch", "tasks go to the runtime's threads", dispatch),
    Part("reference-bf16-bits", "bf16 is kept as integers of 16 bits", _keep_in_integers),
    Rewrite(
        "reference-annotate", "LLVM is told what it may assume of outlined functions", annotate
    ),
)


def lower_to_llvm(
    module: ir.Module,
    name: str,
    assertions: Assertions,
    entries: Iterable[str],
    threads: int = 1,
    unchecked: bool = False,
) -> int:
    """Lowers linalg-on-tensors to the LLVM dialect in place. `Job` describes the arguments.

    Returns:
        LLVM's optimization level for the program.

    Raises:
        Error: stage `compile`.
    """
    job = Job(name, assertions, entries, threads, unchecked)
    for part in ORDER:
        if isinstance(part, Pipeline):
            part.apply(module, name)
        elif isinstance(part, Part):
            part.function(module, job)
        else:
            part.function(module)
    return job.level
