"""Lowers views as another element type to bitcasts, and removes casts that MLIR misfolds.

torch-mlir folds the cast of a constant builtin tensor to `torch.vtensor.literal`. A builtin tensor
has no sign, so the literal of a `uint8` constant has the type of `int8`, which is invalid.
"""

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
from pipelines.ir.values import producer_named

_FROM = "torch_c.from_builtin_tensor"
_TO = "torch_c.to_builtin_tensor"


def return_builtin_tensors(module: ir.Module) -> None:
    """Makes functions return the builtin tensors that they cast to torch tensors, in place.

    Also removes each pair of casts of a builtin tensor to a torch tensor and back.
    """
    with module.context:
        for cast in find_operations(module, lambda each: each.name == _TO):
            source = _before_cast(cast.operands[0])
            if source is not None and source.type == cast.results[0].type:
                cast.results[0].replace_all_uses_with(source)
                cast.erase()
        for result in find_operations(module, lambda each: each.name == "func.return"):
            for place, value in enumerate(result.operands):
                source = _before_cast(value)
                if source is not None:
                    result.operands[place] = source
            function = result.parent
            inputs = ir.FunctionType(function.attributes["function_type"].value).inputs
            types = [value.type for value in result.operands]
            function.attributes["function_type"] = ir.TypeAttr.get(
                ir.FunctionType.get(inputs, types)
            )
        for cast in find_operations(module, lambda each: each.name == _FROM):
            if not list(cast.results[0].uses):
                cast.erase()


def _before_cast(value: ir.Value) -> ir.Value | None:
    """Returns the builtin tensor that is cast to a torch tensor, or None."""
    cast = producer_named(value, _FROM)
    return None if cast is None else cast.operands[0]


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
