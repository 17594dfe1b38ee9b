"""Decompositions that run before the import, and a record of those that were used."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Collection, Iterator, Mapping
from contextvars import ContextVar
from typing import Any

from torch._decomp import core_aten_decompositions
from torch._ops import OpOverload
from torch_mlir.extras.fx_decomp_util import get_decomposition_table

from importers.decompositions.catalog import DECOMPOSITIONS, Decomposition
from importers.decompositions.common_dtype import CONVERSION, in_common_dtype, takes_common_dtype
from importers.decompositions.tracing import composite_operators
from importers.decompositions.user import UserDecomposition, user_decompositions
from unmess.core.program.note import Note

# torch-mlir does not decompose these, since it lowers some of their forms. PyTorch's decompositions
# cover all forms, and `importers.repairs.complex_pairs` computes the results.
_FOURIER = ("aten::fft_", "aten::stft", "aten::istft")


# The notes of the decompositions used so far, by text; None outside of `recording`.
_used: ContextVar[dict[str, Note] | None] = ContextVar("_used", default=None)


@contextlib.contextmanager
def recording() -> Iterator[dict[str, Note]]:
    """Yields a dictionary that receives a note for each decomposition that replaces a call.

    Only decompositions of unmess or of the user are recorded.
    """
    used: dict[str, Note] = {}
    token = _used.set(used)
    try:
        yield used
    finally:
        _used.reset(token)


# Decompositions of operators that are only defined if their library is loaded.
_OF_LIBRARIES = tuple(e for e in DECOMPOSITIONS if not e.operator.startswith("aten::"))


def decomposition_table(keep_ops: Collection[str] = ()) -> dict:
    """Returns the decompositions of operators that the importer or the lowerings do not support.

    Args:
        keep_ops: operators that get no decomposition in the table, such as `aten.softmax.int` or
            `aten.gelu`.
    """
    loaded = tuple(entry.overload for entry in _OF_LIBRARIES)
    users = tuple(
        (overload, f"{entry.operator}, by {entry.where}", entry)
        for overload, entry in user_decompositions().items()
    )
    return dict(_table(DECOMPOSITIONS, loaded, users, frozenset(keep_ops), composite_operators()))


# Most captures use the same table. With the same functions in it, `tracing` has less to register.
@functools.lru_cache(maxsize=8)
def _table(
    entries: tuple[Decomposition, ...],
    loaded: tuple[OpOverload | None, ...],
    users: tuple[tuple[OpOverload, str, UserDecomposition], ...],
    keep_ops: frozenset[str],
    composite: frozenset[OpOverload],
) -> Mapping:
    """Returns the table.

    Args:
        entries: the decompositions of unmess.
        loaded: the overloads of `_OF_LIBRARIES`, for the key of the cache.
        users: overload, text and entry of each decomposition by the user.
        keep_ops: as for `decomposition_table`.
        composite: the composite operators of all libraries, for the key of the cache.
    """
    table = dict(_table_for_torch_mlir(composite))
    own = (
        (overload, f"{entry.name} ({entry.operator})", entry)
        for entry in entries
        if (overload := entry.overload) is not None
    )
    # If an operator has several entries, the last one is tried first. The one before it gets the
    # calls that it does not decompose.
    for overload, text, entry in (*own, *users):
        table[overload] = _recorded(entry.function, text, otherwise=table.get(overload))
    for overload, function in table.items():
        if takes_common_dtype(overload):
            converted = in_common_dtype(overload, function)
            table[overload] = _recorded(converted, CONVERSION, otherwise=function)
    for overload in list(table):
        if str(overload).removesuffix(".default") in keep_ops:
            del table[overload]
    return table


@functools.lru_cache(maxsize=1)
def _table_for_torch_mlir(composite: frozenset[OpOverload]) -> Mapping:
    """Returns the table of torch-mlir, with the composite operators of all libraries.

    torch-mlir makes its table once in a process, without libraries that are loaded later.
    """
    core = core_aten_decompositions().items()
    fourier = {op: function for op, function in core if op.name().startswith(_FOURIER)}
    of_libraries = {
        op: function for op, function in core if op in composite and op.namespace != "aten"
    }
    return {**of_libraries, **get_decomposition_table(), **fourier}


def _recorded(
    function: Callable[..., Any],
    text: str,
    otherwise: Callable[..., Any] | None,
) -> Callable[..., Any]:
    """Wraps `function` to record its use and to call `otherwise` if it returns NotImplemented."""

    @functools.wraps(function)
    def recorded(*args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        if result is NotImplemented:
            return NotImplemented if otherwise is None else otherwise(*args, **kwargs)
        if (used := _used.get()) is not None:
            used.setdefault(text, Note("decomposition", text))
        return result

    return recorded
