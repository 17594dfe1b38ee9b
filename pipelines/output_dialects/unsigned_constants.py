"""Removes casts to torch tensors that MLIR would fold to literals of the wrong type.

torch-mlir folds the cast of a constant builtin tensor to `torch.vtensor.literal`. A builtin tensor
has no sign, so the literal of a `uint8` constant has the type of `int8`, which is invalid.
"""

from __future__ import annotations

from torch_mlir import ir

from pipelines.ir.modules import find_operations
from pipelines.ir.torch_operations import maker_of

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
    cast = maker_of(value, _FROM)
    return None if cast is None else cast.operands[0]
