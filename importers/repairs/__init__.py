"""Rewrites of decomposed graphs for constructs that torch-mlir does not import or lower."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch

from importers.repairs.complex_pairs import split_complex_numbers
from importers.repairs.constants import with_fitting_signature
from importers.repairs.empty import fold_empty_products, fold_empty_results, fold_identical_where
from importers.repairs.indices import (
    check_selected_indices,
    convert_indices,
    normalize_negative_indices,
)
from importers.repairs.layout import (
    drop_assertions_of_offsets,
    drop_layout_only_as_strided,
    gather_strided,
)
from importers.repairs.linear_indices import use_linear_indices
from importers.repairs.literals import (
    add_booleans,
    convert_integers_to_floats,
    prevent_folding_of_quotients,
)
from importers.repairs.narrow_integers import compute_in_wider_integers, limit_shift_counts
from importers.repairs.numbers import assert_numbers, compute_numbers_as_tensors
from importers.repairs.reshape import split_symbolic_views
from importers.repairs.retrace import convert_leading_numbers
from unmess.core.errors.error import Error, first_line
from unmess.core.errors.user_source import user_line
from unmess.core.program.note import Note


@dataclass(frozen=True)
class Repair:
    """A rewrite of a program's graph.

    Attributes:
        name: shown in notes.
        mends: the operators or constructs that it applies to.
        stage: where a program with them fails, or becomes wrong.
        reason: what fails without it.
        apply: changes the graph in place and returns the number of matches.
    """

    name: str
    mends: str
    stage: str
    reason: str
    apply: Callable[[torch.fx.Graph], int]


REPAIRS = (
    Repair(
        "complex numbers as pairs",
        "complex tensors, aten::_fft_c2c, _fft_r2c, _fft_c2r",
        "linalg",
        "torch-mlir lowers few operators on complex tensors, to linalg only, and few Fourier "
        "transforms; real arithmetic lowers to every output dialect",
        split_complex_numbers,
    ),
    Repair(
        "layout-only as_strided",
        "aten::as_strided",
        "import",
        "the torch dialect has no strides; PyTorch uses as_strided to normalize the strides of "
        "dimensions of size 1, and to reshape in group norms",
        drop_layout_only_as_strided,
    ),
    Repair(
        "as_strided as a selection",
        "aten::as_strided of a tensor whose elements fill its memory",
        "import",
        "the torch dialect has no strides; an index_select picks the same elements, whose offsets "
        "are known at capture",
        gather_strided,
    ),
    Repair(
        "offsets in memory",
        "aten::sym_storage_offset in an assertion",
        "torch",
        "torch.export asserts that a view at a position of data starts inside its storage; the "
        "torch dialect has no storage",
        drop_assertions_of_offsets,
    ),
    Repair(
        "data-dependent numbers as tensors",
        "Python operators on x.item(), item() of booleans",
        "import",
        "torch-mlir's importer supports few of these operators and no item() of booleans, and "
        "comparisons of floats do not lower",
        compute_numbers_as_tensors,
    ),
    Repair(
        "sums of booleans",
        "aten::add of two booleans",
        "run",
        "torch-mlir folds the sum of two constants to False if both are True",
        add_booleans,
    ),
    Repair(
        "shifts by any count",
        "aten::bitwise_left_shift, bitwise_right_shift, __lshift__, __rshift__",
        "run",
        "LLVM does not define shifts by a negative number of bits or by all bits; eager does",
        limit_shift_counts,
    ),
    Repair(
        "narrow integers in wider ones",
        "operators on uint8, int8, uint16, uint32",
        "linalg",
        "torch-mlir's lowerings treat unsigned integers as signed (sums, division, comparison), "
        "reject them, or crash; those of int8 crash if they convert an operand",
        compute_in_wider_integers,
    ),
    Repair(
        "index lists of i64",
        "aten::index, aten::index_put",
        "linalg",
        "torch-mlir does not lower an index that is a mask, nor a list of indices of several "
        "integer types",
        convert_indices,
    ),
    Repair(
        "linear indices for dynamic sizes",
        "aten::index, aten::index_put with indices of dynamic sizes or without dimensions",
        "run",
        "torch-mlir writes at least one element, so a write by no index fails or is out of bounds; "
        "it does not lower reads by several indices of one dynamic size, nor writes by indices "
        "around a slice or without dimensions",
        use_linear_indices,
    ),
    Repair(
        "negative indices of index_put",
        "aten::index_put with indices that may be negative",
        "run",
        "torch-mlir's lowering uses negative indices as they are; eager counts them from the end",
        normalize_negative_indices,
    ),
    Repair(
        "assertions about tensors",
        "aten::_assert_async",
        "run",
        "torch-mlir drops them, and would compute with values that eager rejects",
        assert_numbers,
    ),
    Repair(
        "checked indices of select",
        "aten::select with an index that depends on data",
        "run",
        "torch-mlir's lowering selects the first element if the index is below the range",
        check_selected_indices,
    ),
    Repair(
        "where of a tensor and itself",
        "aten::where with one tensor twice",
        "torch",
        "torch-mlir folds it to the tensor, whose shape may differ from that of the result",
        fold_identical_where,
    ),
    Repair(
        "integers beside floating-point constants",
        "arithmetic of a constant floating-point tensor and a Python int",
        "run",
        "torch-mlir's folding reads the bits of one type as the other: 1.5 * -1 becomes 2.8e19",
        convert_integers_to_floats,
    ),
    Repair(
        "quotients of constant integers",
        "integer division of constants",
        "run",
        "torch-mlir ignores the signs of the elements when it folds the quotient of two constants",
        prevent_folding_of_quotients,
    ),
    Repair(
        "number before a tensor",
        "x.shape[0] - x; 0.1 - x and linspace in f64",
        "run",
        "if a number stands for the first tensor of an operator, torch-mlir's importer converts it "
        "to f32, or leaves it a number if it is symbolic",
        convert_leading_numbers,
    ),
    Repair(
        "empty results",
        "any operator; aten::index_put, aten::scatter",
        "linalg",
        "torch-mlir divides by the number of elements when it lowers a reshape, and IREE when it "
        "compiles a scatter; they crash if it is 0",
        fold_empty_results,
    ),
    Repair(
        "products without elements to sum",
        "aten::mm, aten::bmm",
        "compile",
        "IREE's compiler divides by the inner size of a matrix product, and crashes if it is 0",
        fold_empty_products,
    ),
    Repair(
        "symbolic view",
        "aten::view with several dynamic sizes",
        "run",
        "torch-mlir's lowering of aten.view takes one of several dynamic sizes for 1 and reads "
        "out of bounds; flatten and unflatten state which sizes belong together",
        split_symbolic_views,
    ),
)


def apply_repairs(
    exported: torch.export.ExportedProgram,
) -> tuple[torch.export.ExportedProgram, list[Note]]:
    """Applies every repair that matches. Returns the new program and a note per applied repair.

    Args:
        exported: its graph is changed in place; do not use it afterwards.

    Raises:
        Error: stage `capture`.
    """
    notes = []
    for repair in REPAIRS:
        try:
            count = repair.apply(exported.graph)
        except Error:
            raise
        except Exception as problem:
            raise Error(
                "capture",
                f"the repair '{repair.name}' fails on the program: {first_line(problem)}",
                where=user_line(problem),
                hint="write this part of the model with simpler operators, and report the model "
                "as a bug of unmess",
            ) from problem
        if count:
            notes.append(Note("repair", f"{repair.name} ({count} times)"))
    return with_fitting_signature(exported) if notes else exported, notes
