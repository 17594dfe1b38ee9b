"""Gives each part of a loop its own temporaries.

A temporary of a loop over parts holds the elements of all parts. If each part accesses only its
share of them, and nothing else accesses the temporary, the body of the loop can allocate a buffer
for one share. So a thread uses the same memory for each of its parts, and finds it in its cache.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from torch_mlir import ir

from pipelines.ir.lazy_dialects import arith, memref
from pipelines.ir.modules import find_operations
from pipelines.ir.values import constant_integer, producer_named, terminator
from pipelines.reference.analysis.aliasing import VIEWS
from pipelines.reference.analysis.regions import Region, regions
from pipelines.reference.steps.splitting import PARTS

# Bytes of a share above which it does not stay in the caches. A few such buffers need more memory
# than the C library keeps, and the system would clear it for each part.
_LARGE = 32 << 20
# Views that `_Buffer` replaces by views of a share.
_RESHAPED = ("memref.collapse_shape", "memref.expand_shape", "memref.subview")


def privatize(module: ir.Module) -> None:
    """Moves allocations into the loops over parts that use them, in place."""
    with module.context, ir.Location.unknown():
        for loop in find_operations(module, lambda each: PARTS in each.attributes):
            for allocation in _private(loop):
                _Buffer(allocation, loop).move()


def may_become_private(region: Region, count: int) -> bool:
    """Returns whether a region of an allocation is a share of one part, and small enough.

    Args:
        count: the number of parts.
    """
    # A share is part of an axis, so its block has one.
    return region.is_share and region.block.type.shape[0] > 1 and region.bytes <= count * _LARGE


def _private(loop: ir.Operation) -> list[ir.Operation]:
    """Returns the allocations of which each part accesses only its share."""
    body = loop.regions[0].blocks[0]
    accessed: dict[ir.Operation, list[Region]] = {}
    for operation in body.operations:
        found = regions(operation.operation, body.arguments[0])
        if found is None:
            return []
        for region in found:
            if isinstance(region.block, ir.Value):
                allocation = producer_named(region.block, "memref.alloc")
                if allocation is not None and allocation.block == loop.block:
                    accessed.setdefault(allocation, []).append(region)
    count = constant_integer(loop.operands[1])
    return [
        allocation
        for allocation, found in accessed.items()
        if all(may_become_private(region, count) for region in found)
        and {region.step * count for region in found} == {math.prod(allocation.result.type.shape)}
    ]


@dataclass
class _Buffer:
    """An allocation in front of a loop over parts. Parts divide its first axis.

    Attributes:
        old: the operations that are not needed afterwards: frees, and views with their sources
            after them.
        new: the allocation in the loop, and its views, with their sources before them.
    """

    allocation: ir.Operation
    loop: ir.Operation
    old: list[ir.Operation] = field(default_factory=list)
    new: list[ir.Operation] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.body = self.loop.regions[0].blocks[0]
        self.count = constant_integer(self.loop.operands[1])

    def move(self) -> None:
        """Moves an allocation of one share into the loop, if only the loop uses the buffer."""
        whole = self.allocation.result
        if not self._is_used_by_loop(whole) or not self._is_divisible(whole):
            return
        with ir.InsertionPoint.at_block_begin(self.body), self.allocation.location:
            alignment = self.allocation.attributes.get("alignment")
            share = memref.AllocOp(self._share(whole.type), [], [], alignment=alignment).result
        with ir.InsertionPoint(terminator(self.body)), self.allocation.location:
            memref.DeallocOp(share)
        self.new.append(share.owner)
        self._replace_users(whole, share)
        for operation in [*self.old, self.allocation]:
            operation.erase()
        for operation in reversed(self.new):
            operation.move_before(_first_user(operation, self.body))

    def _is_used_by_loop(self, value: ir.Value) -> bool:
        """Returns whether only the loop uses a value, apart from views and frees."""
        users = [use.owner.operation for use in value.uses]
        return all(
            (user.name in VIEWS and self._is_used_by_loop(user.result))
            or (user.name == "memref.dealloc" and user.block == self.loop.block)
            or _is_inside(user, self.loop)
            for user in users
        )

    def _is_divisible(self, value: ir.Value) -> bool:
        """Returns whether the first axis of a value, and of its views, consists of shares."""
        users = [use.owner.operation for use in value.uses]
        return value.type.shape[0] % self.count == 0 and all(
            _selects(view) or (view.name in _RESHAPED and self._is_divisible(view.result))
            for view in users
            if view.name in VIEWS
        )

    def _share(self, type: ir.MemRefType) -> ir.MemRefType:
        """Returns the type of one share."""
        shape = [type.shape[0] // self.count, *type.shape[1:]]
        layout = None
        if type.layout != ir.MemRefType.get(type.shape, type.element_type).layout:
            strides, offset = type.get_strides_and_offset()
            layout = ir.StridedLayoutAttr.get(offset, strides)
        return ir.MemRefType.get(shape, type.element_type, layout)

    def _replace_users(self, whole: ir.Value, share: ir.Value) -> None:
        """Makes all users of a value use its share."""
        for use in list(whole.uses):
            user = use.owner.operation
            if user.name in VIEWS and _selects(user):
                self._subtract_start(user, share)
                continue
            if user.name in VIEWS:
                is_inside = _is_inside(user, self.loop)
                place = (
                    ir.InsertionPoint(user) if is_inside else ir.InsertionPoint.after(share.owner)
                )
                with place, user.location:
                    view = _view(user, share, self._share(user.result.type))
                if not is_inside:
                    self.new.append(view)
                self._replace_users(user.result, view.result)
            self.old.append(user)

    def _subtract_start(self, view: ir.Operation, share: ir.Value) -> None:
        """Replaces a view of the elements of a part by one whose indices start at the part."""
        with ir.InsertionPoint(view), view.location:
            size = arith.ConstantOp.create_index(share.type.shape[0]).result
            start = arith.MulIOp(self.body.arguments[0], size).result
            offset = arith.SubIOp(view.operands[1], start).result
        view.operands[0] = share
        view.operands[1] = offset


def _selects(view: ir.Operation) -> bool:
    """Returns whether a view has only some of the elements of the first axis."""
    if view.name != "memref.subview":
        return False
    return view.attributes["static_sizes"][0] != view.operands[0].type.shape[0]


def _view(view: ir.Operation, source: ir.Value, type: ir.MemRefType) -> ir.Operation:
    """Creates a view of another source.

    Args:
        type: of the result.
    """
    attributes = dict(view.attributes.items())
    if view.name == "memref.subview":
        sizes = [source.type.shape[0], *list(attributes["static_sizes"])[1:]]
        attributes["static_sizes"] = ir.DenseI64ArrayAttr.get(sizes)
    elif view.name == "memref.expand_shape":
        attributes["static_output_shape"] = ir.DenseI64ArrayAttr.get(type.shape)
    operands = [source, *list(view.operands)[1:]]
    return ir.Operation.create(view.name, [type], operands, attributes)


def _first_user(operation: ir.Operation, block: ir.Block) -> ir.Operation:
    """Returns the first operation of a block that uses a result, or contains one that does."""
    first = terminator(block)
    for use in operation.result.uses:
        user = use.owner.operation
        while user.block != block:
            user = user.parent.operation
        if user.is_before_in_block(first):
            first = user
    return first


def _is_inside(operation: ir.Operation, holder: ir.Operation) -> bool:
    while operation != holder:
        if operation.name == "builtin.module":
            return False
        operation = operation.parent.operation
    return True
