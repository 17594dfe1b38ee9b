"""Rewrites of decomposed graphs for constructs that torch-mlir does not import or lower."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch

from importers.repairs.assertions import assert_numbers
from importers.repairs.booleans import add_booleans
from importers.repairs.choices import take_the_only_choice
from importers.repairs.complex_pairs import split_complex_numbers
from importers.repairs.empty import leave_nothing_to_compute
from importers.repairs.flags import read_flags_as_integers
from importers.repairs.indices import (
    check_computed_places,
    convert_indices,
    count_from_the_front,
)
from importers.repairs.layout import drop_layout_only_as_strided, gather_strided
from importers.repairs.leading_numbers import write_as_doubles
from importers.repairs.narrow_integers import compute_in_wider_integers
from importers.repairs.numbers import compute_numbers_as_tensors
from importers.repairs.quotients import keep_quotients_from_folding
from importers.repairs.reshape import take_apart_symbolic_views
from importers.repairs.shifts import shift_by_any_count
from importers.repairs.signature import with_fitting_signature
from importers.repairs.whole_numbers import write_as_floating_point
from unmess.core.error import Error, first_line
from unmess.core.note import Note
from unmess.core.user_source import user_line


@dataclass(frozen=True)
class Repair:
    """A rewrite of a program's graph.

    Attributes:
        name: shown in notes.
        mends: the operators or constructs that it applies to.
        stage: where a program with them fails, or becomes wrong.
        reason: what fails without it.
        apply: changes the graph in place and returns the number of matches.
        upstream: URL of the upstream issue, or None.
    """

    name: str
    mends: str
    stage: str
    reason: str
    apply: Callable[[torch.fx.Graph], int]
    upstream: str | None = None


REPAIRS = (
    Repair(
        "complex numbers as pairs",
        "complex tensors, aten::_fft_c2c, _fft_r2c, _fft_c2r",
        "linalg",
        "torch-mlir takes few operators on complex tensors, to linalg only, and no Fourier "
        "transforms but for two forms; in real arithmetic they lower to every exit",
        split_complex_numbers,
    ),
    Repair(
        "layout-only as_strided",
        "aten::as_strided",
        "import",
        "the torch dialect has no strides; PyTorch uses as_strided to normalise those of size-1 "
        "dimensions, and in group norms to reshape",
        drop_layout_only_as_strided,
    ),
    Repair(
        "as_strided as a selection",
        "aten::as_strided of a tensor that fills its memory",
        "import",
        "the torch dialect has no strides; the elements that it picks are known by their numbers",
        gather_strided,
    ),
    Repair(
        "flags read as integers",
        "torch.sym_ite, torch.sym_not, assertions with operator.and_",
        "import",
        "the importer has no case for them; a branch on a flag of the data leaves them in the "
        "assertion that it goes as on the example (Longformer asks whether any token is global)",
        read_flags_as_integers,
    ),
    Repair(
        "numbers that are data as tensors",
        "Python operators on x.item(), booleans that are read",
        "import",
        "the importer has no case for most of them, reads no booleans, and torch-mlir has no "
        "lowering of comparisons of floats",
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
        "aten::bitwise_left_shift, bitwise_right_shift",
        "run",
        "LLVM leaves shifts by a negative number or by all bits undefined, which eager defines",
        shift_by_any_count,
    ),
    Repair(
        "narrow integers in wider ones",
        "operators on uint8, int8, uint16, uint32",
        "linalg",
        "torch-mlir's lowerings take unsigned integers for signed ones (sums, division, "
        "comparison), do not take them, or crash; those of int8 crash where they convert "
        "an operand",
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
        "places from the front",
        "aten::index_put with indices that may be negative",
        "run",
        "torch-mlir's lowering takes indices as they are; those below 0 count from the back",
        count_from_the_front,
    ),
    Repair(
        "assertions about tensors",
        "aten::_assert_async",
        "run",
        "torch-mlir drops them: what eager refuses would be computed with",
        assert_numbers,
    ),
    Repair(
        "computed places that exist",
        "aten::select with an index that is data",
        "run",
        "torch-mlir's lowering takes the first element for an index before the first",
        check_computed_places,
    ),
    Repair(
        "choice between a tensor and itself",
        "aten::where with one tensor twice",
        "torch",
        "torch-mlir folds it to the tensor, which may not have the shape of the result",
        take_the_only_choice,
    ),
    Repair(
        "whole numbers beside constants",
        "arithmetic of a constant floating-point tensor and a Python int",
        "run",
        "torch-mlir's folding takes the bits of one for the other: 1.5 * -1 is 2.8e19",
        write_as_floating_point,
    ),
    Repair(
        "quotients of constant integers",
        "integer division of constants",
        "run",
        "torch-mlir folds the quotient of two literals without the signs of their elements",
        keep_quotients_from_folding,
    ),
    Repair(
        "number before an f64 tensor",
        "0.1 - x, linspace",
        "run",
        "the importer makes an f32 literal of a number where an operator has its first tensor",
        write_as_doubles,
    ),
    Repair(
        "results without elements",
        "any operator, aten::index_put",
        "linalg",
        "torch-mlir divides by their number when it lowers a reshape, and crashes",
        leave_nothing_to_compute,
    ),
    Repair(
        "symbolic view",
        "aten::view with several dynamic sizes",
        "run",
        "torch-mlir's lowering of aten.view takes one of several dynamic sizes for 1 and reads "
        "wrong memory; flatten and unflatten say which sizes go together",
        take_apart_symbolic_views,
        "https://github.com/llvm/torch-mlir/issues/4743",
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
                f"{repair.name}: the program does not take it: {first_line(problem)}",
                where=user_line(problem),
                hint="write it with simpler operators, and report this with the model",
            ) from problem
        if count:
            notes.append(Note("repair", f"{repair.name} ({count} times)"))
    return with_fitting_signature(exported) if notes else exported, notes
