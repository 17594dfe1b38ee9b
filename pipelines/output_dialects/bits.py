"""Lowers views as another element type of the same width (`aten.view.dtype`) to bitcasts."""

from __future__ import annotations

from torch_mlir import ir
from torch_mlir.passmanager import PassManager

from pipelines.ir.modules import build_op, find_operations
from pipelines.ir.torch_operations import (
    builtin_type,
    element_of,
    from_builtin,
    rewrite,
    to_builtin,
)

_VIEW = "torch.aten.view.dtype"
_TO_LINALG = "builtin.module(func.func(convert-elementwise-to-linalg))"
_WIDTHS = {
    **{f"{sign}i{width}": width for sign in ("s", "u") for width in (8, 16, 32, 64)},
    **{"f16": 16, "bf16": 16, "f32": 32, "f64": 64},
}


def bitcast_views(module: ir.Module) -> None:
    """Rewrites `aten.view.dtype` between types of the same width in place.

    Earlier passes must have registered torch-mlir's `torch_c` dialect.
    """
    if find_operations(module, lambda each: each.name == _VIEW):
        rewrite(module, {_VIEW: _bitcast})
        PassManager.parse(_TO_LINALG, module.context).run(module.operation)


def _bitcast(view: ir.Operation) -> ir.Value | None:
    source, target = view.operands[0].type, view.results[0].type
    width = _WIDTHS.get(element_of(source))
    if width is None or width != _WIDTHS.get(element_of(target)):
        return None
    bits = build_op("arith.bitcast", builtin_type(target), to_builtin(view.operands[0]))
    return from_builtin(bits, target)
