"""The model layer of each operation: recorded by PyTorch, kept in MLIR locations."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch
    from torch_mlir import ir

# A module that is called several times has `@1`, `@2`, … in the path of its further calls.
_FURTHER_CALL = re.compile(r"@\d+")
# Modules that a capture wraps functions in. They are not layers of the model.
_MACHINERY = ("importers.", "unmess.", "torch.fx.", "torch._", "torch.export.")


@dataclass(frozen=True)
class Layer:
    """A module of the model: its path, empty for the model itself, and the name of its class."""

    path: str
    type: str


def node_layer(node: torch.fx.Node) -> Layer | None:
    """Returns the innermost module that PyTorch recorded for a graph node."""
    stack = node.meta.get("nn_module_stack")
    if not stack:
        return None
    path, kind = list(stack.values())[-1]
    name = kind if isinstance(kind, str) else f"{kind.__module__}.{kind.__qualname__}"
    if name.startswith(_MACHINERY):
        return None
    return Layer(_FURTHER_CALL.sub("", path), name.rpartition(".")[2])


def in_layer(location: ir.Location, layer: Layer) -> ir.Location:
    """Returns the location, marked as inside `layer`."""
    from torch_mlir import ir

    context = location.context
    mark = {
        "layer": ir.StringAttr.get(layer.path, context),
        "class": ir.StringAttr.get(layer.type, context),
    }
    return ir.Location.fused([location], ir.DictAttr.get(mark, context), context)


def location_layer(location: ir.Location) -> Layer | None:
    """Returns the innermost layer that a location is marked with."""
    from torch_mlir import ir

    if isinstance(location, ir.CallSiteLoc):
        # The layer of an inlined operation comes before that of its caller.
        return location_layer(location.callee) or location_layer(location.caller)
    if isinstance(location, ir.NameLoc):
        return location_layer(location.child_loc)
    if not isinstance(location, ir.FusedLoc):
        return None
    mark = location.metadata and location.metadata.maybe_downcast()
    if isinstance(mark, ir.DictAttr) and "layer" in mark and "class" in mark:
        return Layer(ir.StringAttr(mark["layer"]).value, ir.StringAttr(mark["class"]).value)
    return next(filter(None, map(location_layer, location.locations)), None)
