"""Chooses the convolutions that need fewer products with Winograd's algorithm.

The algorithm rounds differently from plain sums. So the choice depends on the whole operation, not
on the part of a thread, and it is the same for all processors.
"""

from __future__ import annotations

import math

from torch_mlir import ir

from pipelines.ir.modules import find_operations
from pipelines.reference.schedules.convolution import Convolution, find_convolution
from pipelines.reference.schedules.panel import CHAIN
from pipelines.reference.schedules.winograd import SQUARE, WINOGRAD

# Minimum numbers of channels and filters. With fewer, the transforms take longer than the products
# that they save.
_FEWEST = 16
# A vector has lanes for this many channels, or for one.
_CHANNELS = 2
# Minimum number of tiles of an image. With fewer, transforming the filters takes too long.
_FEWEST_TILES = 16


def choose_winograd(module: ir.Module) -> None:
    """Marks the convolutions of a module that are faster with Winograd's algorithm."""
    with module.context:
        for generic in find_operations(module, lambda each: each.name == "linalg.generic"):
            found = find_convolution(generic)
            if found is not None and is_faster(found):
                generic.attributes[WINOGRAD] = ir.UnitAttr.get()


def is_faster(found: Convolution) -> bool:
    """Returns whether the algorithm is faster than plain sums, by the sizes of a convolution."""
    sizes = [found.sizes[d] for d in range(len(found.sizes)) if d not in found.images]
    if None in sizes or found.window != (3, 3):
        return False
    channels = math.prod(found.sizes[dimension] for dimension in found.channels)
    tiles = math.prod(-(-size // SQUARE) for size in found.result)
    return (
        channels % _CHANNELS == 0
        # A register holds the whole sum.
        and _FEWEST <= channels <= CHAIN
        and found.sizes[found.filter] >= _FEWEST
        and tiles >= _FEWEST_TILES
    )
