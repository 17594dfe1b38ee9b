"""Refuses poolings with a dynamic number of windows, which torch-mlir computes incorrectly.

Its lowering to StableHLO rounds the number down, also with `ceil_mode`. In TOSA, windows must end
with the image, and its lowering computes where they end as if the size were a known number.
"""

from __future__ import annotations

from collections.abc import Callable

from torch_mlir import ir

from pipelines.ir.modules import find_operations
from pipelines.ir.torch_operations import sizes_of, value_of
from pipelines.ir.values import producer_named
from unmess.core.errors.error import Error
from unmess.core.errors.user_source import location_line

# The number of axes of the windows, by the operator.
MAX_POOLS = {
    f"torch.aten.max_pool{axes}d{suffix}": axes
    for axes in (1, 2, 3)
    for suffix in ("", "_with_indices")
}
_POOLS = MAX_POOLS | {f"torch.aten.avg_pool{axes}d": axes for axes in (1, 2, 3)}


def refuse_for_stablehlo(module: ir.Module) -> None:
    """Raises an Error (`stablehlo`) for a pooling in a module at `torch` that rounds up."""
    _refuse(module, _rounds_up, "stablehlo", "with ceil_mode ")


def refuse_for_tosa(module: ir.Module) -> None:
    """Raises an Error (`tosa`) for a pooling in a module at `torch` with strides other than 1."""
    _refuse(module, _has_strides, "tosa", "with strides ")


def _refuse(
    module: ir.Module, is_wrong: Callable[[ir.Operation], bool], stage: str, form: str
) -> None:
    with module.context:
        for pool in find_operations(module, lambda each: each.name in _POOLS):
            if _is_dynamic(pool) and is_wrong(pool):
                raise Error(
                    stage,
                    f"{pool.name.removeprefix('torch.')} {form}has a dynamic number of windows, "
                    "which has no correct lowering",
                    where=location_line(pool.location),
                    hint="make the size of the image static, or try --to linalg",
                )


def _is_dynamic(pool: ir.Operation) -> bool:
    axes = _POOLS[pool.name]
    return None in (
        *sizes_of(pool.operands[0].type)[-axes:],
        *sizes_of(pool.results[0].type)[-axes:],
    )


def _rounds_up(pool: ir.Operation) -> bool:
    ceil_mode = pool.operands[5 if pool.name in MAX_POOLS else 4]
    return bool(value_of(ceil_mode))


def _has_strides(pool: ir.Operation) -> bool:
    """Returns whether a stride is not 1. Without strides, they are the lengths of the window."""
    lengths, strides = (
        producer_named(each, "torch.prim.ListConstruct") for each in pool.operands[1:3]
    )
    given = strides if strides is not None and len(strides.operands) else lengths
    return given is None or any(value_of(each) != 1 for each in given.operands)
