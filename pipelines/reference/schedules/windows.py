"""Vectorizes reductions over windows or outer dimensions along the columns of the result.

Examples are depthwise convolutions and pooling. A tile of the result has a few rows of one vector
each. The loops over the window combine vectors of the inputs with it.

    for outer dimensions, for tile of rows, for vector of columns:
        totals = out[rows, columns]
        for window:
            totals[row] = body(inputs[row, window, columns], totals[row])
        out[rows, columns] = totals

Each result is accumulated in the order of the plain loops.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch_mlir import ir

from pipelines.ir.contraction import find_contraction, indexing_maps, loop_sizes
from pipelines.reference.schedules.kernel import Kernel
from pipelines.reference.schedules.machine import Machine
from pipelines.reference.schedules.places import Buffer, Nest, Place, load_columns, stride_of

# Operations that bodies may contain. They also work on vectors, and never trap.
_BODY = (
    "arith.addf",
    "arith.divf",
    "arith.maximumf",
    "arith.maxnumf",
    "arith.minimumf",
    "arith.minnumf",
    "arith.mulf",
    "arith.negf",
    "arith.subf",
    "math.absf",
)


def rewrite(function: ir.OpView, generic: ir.Operation, machine: Machine) -> str | None:
    """Returns the text of the function with vectors along the result's innermost dimension.

    Returns:
        None if an input has a stride other than 0, 1 or 2 along that dimension, if the dimension
        is dynamic or shorter than 4, or if the body is not arithmetic of one floating-point type.
    """
    kinds = [str(kind) for kind in ir.ArrayAttr(generic.attributes["iterator_types"])]
    maps = indexing_maps(generic)
    out = list(maps[-1].results)
    if generic.attributes["operandSegmentSizes"][1] != 1 or not out or len(maps) < 2:
        return None
    if not all(isinstance(each, ir.AffineDimExpr) for each in out):
        return None
    column = ir.AffineDimExpr(out[-1]).position
    depth = [d for d, kind in enumerate(kinds) if "reduction" in kind]
    sizes = loop_sizes(generic)
    if not depth or column in depth or sizes[column] is None or sizes[column] < 4:
        return None
    if len({ir.AffineDimExpr(each).position for each in out}) + len(depth) != len(kinds):
        return None
    if not _is_arithmetic(generic):
        return None
    kernel = _Windows(function, generic, column, depth, machine)
    return kernel.text() if kernel.reads is not None else None


def _is_arithmetic(generic: ir.Operation) -> bool:
    body = generic.regions[0].blocks[0]
    types = {str(argument.type) for argument in body.arguments}
    if not all(op.operation.name in (*_BODY, "linalg.yield") for op in body.operations):
        return False
    inside = {*body.arguments, *(op.results[0] for op in [*body.operations][:-1])}
    return (
        types in ({"f32"}, {"f64"})
        and all(operand in inside for op in body.operations for operand in op.operands)
        and all(isinstance(each.type, ir.MemRefType) for each in generic.operands)
    )


@dataclass(frozen=True)
class _Read:
    """An input, and its stride along the columns: 0 if it is the same for all of them."""

    buffer: Buffer
    stride: int


class _Windows(Kernel):
    """Builds the function of an operation over windows."""

    def __init__(
        self,
        function: ir.OpView,
        generic: ir.Operation,
        column: int,
        depth: list[int],
        machine: Machine,
    ):
        super().__init__(function, generic, machine)
        self.column = column
        self.depth = depth
        self.out = self.buffers[-1]
        self.is_product = find_contraction(generic) is not None
        self.body = generic.regions[0].blocks[0]
        parallel = [terms[0][0] for terms in self.out.access[:-1]]
        # The dimension next to the columns: windows of neighboring rows overlap.
        self.row = parallel[-1] if parallel else None
        self.outer = parallel[:-1]
        reads = [self._read(buffer) for buffer in self.buffers[:-1]]
        self.reads = None if None in reads or not _is_plain(self.out) else reads

    def _read(self, buffer: Buffer) -> _Read | None:
        stride = stride_of(buffer, self.column)
        if stride and not _is_plain(buffer):
            return None
        return _Read(buffer, stride) if stride in (0, 1, 2) else None

    def text(self) -> str:
        """Returns the whole function."""
        code, size = self.code, self.sizes[self.column]
        rows = 1 if self.row is None else self.known_sizes[self.row]
        width, height = self.machine.tile(self.element.width // 8, size, rows)
        # -1 is no dimension.
        row = -1 if self.row is None else self.row
        with Nest(code, self.outer, self.sizes) as place:
            ranges = [((0, 1), 1)] if self.row is None else self.rows(self.sizes[self.row], height)
            for (first, last), step in ranges:
                with code.loop(first, last, step) as start:
                    places = [
                        place if self.row is None else {**place, row: code.sum([(start, 1)], n)}
                        for n in range(step)
                    ]
                    for (left, right), valid in self.columns(size, width):
                        with code.loop(left, right, width) as position:
                            here = [{**each, self.column: position} for each in places]
                            self._tile(here, self.rounded(width, valid), valid)
        return self.end()

    def _tile(self, places: list[Place], width: int, valid: int | None) -> None:
        mask = self.mask(width, valid)
        addresses = [self.out.at(self.code, place) for place in places]
        if self.starts_at_zero:
            totals = [self.zeros(f"vector<{width}x{self.element}>")] * len(places)
        else:
            totals = [self.load(self.out, address, width, mask) for address in addresses]
        self._accumulate(self.depth, places, totals, width, valid)
        for address, total in zip(addresses, totals, strict=True):
            self.store(total, self.out, address, width, mask)

    def _accumulate(
        self,
        depth: list[int],
        places: list[Place],
        totals: list[str],
        width: int,
        valid: int | None,
    ) -> None:
        """Emits the loops over the window. Replaces the values in `totals`, one for each place."""
        vector = f"vector<{width}x{self.element}>"
        if depth:
            dimension, *inner = depth
            with self.code.accumulate(0, self.sizes[dimension], totals, vector) as (index, state):
                deeper = [{**place, dimension: index} for place in places]
                self._accumulate(inner, deeper, state, width, valid)
            return
        shared: dict[int, str] = {}
        for number, place in enumerate(places):
            inputs = []
            for position, read in enumerate(self.reads):
                same = self.row is None or not any(
                    d == self.row for terms in read.buffer.access for d, _ in terms
                )
                value = shared.get(position) if same else None
                if value is None:
                    value = shared[position] = self._vector(read, place, width, valid)
                inputs.append(value)
            totals[number] = self._combined(inputs, totals[number], vector)

    def _vector(self, read: _Read, place: Place, width: int, valid: int | None) -> str:
        """Returns the input for a vector of columns."""
        code, buffer = self.code, read.buffer
        vector = f"vector<{width}x{self.element}>"
        if read.stride == 0:
            address = buffer.at(code, place)
            number = code.value(f"memref.load {buffer.value}[{address}] : {buffer.type}")
            return code.value(f"vector.broadcast {number} : {self.element} to {vector}")
        return load_columns(code, buffer, place, self.column, width, valid, self.element)

    def _combined(self, inputs: list[str], total: str, vector: str) -> str:
        """Emits the body for these inputs and this total, and returns its result."""
        if self.is_product:
            return self.fused(*inputs, total, vector)
        names = dict(zip(self.body.arguments, [*inputs, total], strict=True))
        *operations, last = self.body.operations
        for operation in operations:
            operands = ", ".join(names[operand] for operand in operation.operands)
            names[operation.results[0]] = self.code.value(
                f"{operation.operation.name} {operands} : {vector}"
            )
        return names[last.operands[0]]


def _is_plain(buffer: Buffer) -> bool:
    """Returns whether the innermost dimension is contiguous."""
    return ir.MemRefType(buffer.type).get_strides_and_offset()[0][-1] == 1
