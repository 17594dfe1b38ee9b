"""Lowers views as another element type of the same width (`aten.view.dtype`) to bitcasts."""

from __future__ import annotations

from torch_mlir import ir
from torch_mlir.passmanager import PassManager

from pipelines.ir.modules import build_op, find_operations
from pipelines.ir.torch_operations import element_of, rewrite, sizes_of

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
    elements = build_op("torch_c.to_builtin_tensor", _builtin(source), view.operands[0])
    bits = build_op("arith.bitcast", _builtin(target), elements)
    return build_op("torch_c.from_builtin_tensor", target, bits)


def _builtin(kind: ir.Type) -> str:
    """Returns the builtin tensor type of a `!torch.vtensor`, with signless integers."""
    sizes = ["?" if size is None else str(size) for size in sizes_of(kind)]
    return f"tensor<{'x'.join([*sizes, element_of(kind).removeprefix('s').removeprefix('u')])}>"
