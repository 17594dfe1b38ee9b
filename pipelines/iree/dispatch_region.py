"""Creates the region of a dispatch: operations that IREE compiles to one kernel."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from torch_mlir import ir


def dispatch(
    kinds: Sequence[ir.Type], sizes: Sequence[ir.Value], body: Callable[[], Sequence[ir.Value]]
) -> list[ir.Value]:
    """Creates a dispatch at the insertion point.

    Args:
        kinds: the types of its results.
        sizes: the dynamic sizes of the results, in order.
        body: creates the operations of the kernel, and returns its results. They must not allocate
            memory. They may read values from outside.
    """
    region = ir.Operation.create(
        "flow.dispatch.region",
        list(kinds),
        list(sizes),
        {"operandSegmentSizes": ir.DenseI32ArrayAttr.get([len(sizes), 0])},
        # If the second region is empty, IREE derives the number of workgroups from the tiles.
        regions=2,
    )
    with ir.InsertionPoint(region.regions[0].blocks.append()):
        ir.Operation.create("flow.return", [], list(body()))
    return list(region.results)
