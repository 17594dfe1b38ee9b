"""Operators that are taken apart before the import, and why."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Mapping
from typing import Any

from torch._decomp import core_aten_decompositions
from torch_mlir.extras.fx_decomp_util import get_decomposition_table

from importers.decompositions.catalogue import DECOMPOSITIONS
from importers.decompositions.user import user_decompositions
from unmess.core.note import Note

# torch-mlir leaves these whole, since it takes some forms of some of them. In the form that
# PyTorch takes them apart into, `importers.repairs.complex_pairs` computes all of them.
_FOURIER = ("aten::fft_", "aten::stft", "aten::istft")


def decomposition_table(used: dict[str, Note] | None = None, whole: Collection[str] = ()) -> dict:
    """Operator to decomposition: what the importer and the lowerings expect to be gone.

    Args:
        used: receives a note for each decomposition of unmess or of the user that takes a call
            apart while the table is used.
        whole: operators that have none in it, as `aten.softmax.int` or `aten.gelu`.
    """
    table = dict(_table_for_torch_mlir())
    own = [
        (entry.overload, f"{entry.name} ({entry.operator})", entry)
        for entry in DECOMPOSITIONS
        if entry.overload is not None
    ]
    users = [
        (overload, f"{entry.operator}, by {entry.where}", entry)
        for overload, entry in user_decompositions().items()
    ]
    # A later one of the same operator comes first, and leaves calls to the ones before.
    for overload, text, entry in (*own, *users):
        table[overload] = _recorded(entry.function, text, used, otherwise=table.get(overload))
    for overload in list(table):
        if str(overload).removesuffix(".default") in whole:
            del table[overload]
    return table


@functools.cache
def _table_for_torch_mlir() -> Mapping:
    fourier = {
        overload: function
        for overload, function in core_aten_decompositions().items()
        if overload.name().startswith(_FOURIER)
    }
    return {**get_decomposition_table(), **fourier}


def _recorded(
    function: Callable[..., Any],
    text: str,
    used: dict[str, Note] | None,
    otherwise: Callable[..., Any] | None,
) -> Callable[..., Any]:
    """`function`, or what the table had before where it leaves a call as it is."""

    @functools.wraps(function)
    def recorded(*args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        if result is NotImplemented:
            return NotImplemented if otherwise is None else otherwise(*args, **kwargs)
        if used is not None:
            used.setdefault(text, Note("decomposition", text))
        return result

    return recorded
