"""Lowers `stablehlo.scatter` to loops that apply one update after the other.

An update whose window is partly outside of the operand is skipped, as in XLA.
"""

from __future__ import annotations

from torch_mlir import ir
from torch_mlir._mlir_libs import _stablehlo

from pipelines.ir.lazy_dialects import arith, scf, tensor
from pipelines.ir.loops import Size, Slice, index, repeat_each, size
from pipelines.ir.modules import find_operations, replace_operations
from pipelines.stablehlo.bodies import mapped
from pipelines.stablehlo.gather import as_signed


def scatters_to_loops(module: ir.Module) -> None:
    """Lowers the scatters of a module in place."""
    with module.context:
        scatters = find_operations(module, lambda each: each.name == "stablehlo.scatter")
        replace_operations(scatters, lambda scatter: _Scatter(scatter).results())


class _Scatter:
    def __init__(self, scatter: ir.Operation):
        self.scatter = scatter
        count = len(scatter.results)
        operands = list(scatter.operands)
        self.wholes, self.updates = operands[:count], operands[count + 1 :]
        self.indices = as_signed(operands[count])
        numbers = _stablehlo.ScatterDimensionNumbers(
            scatter.attributes["scatter_dimension_numbers"]
        )
        self.vector = numbers.index_vector_dim
        self.mapped = list(numbers.scattered_dims_to_operand_dims)
        self.batch = dict(
            zip(numbers.input_batching_dims, numbers.scatter_indices_batching_dims, strict=True)
        )
        self.window_axes = list(numbers.update_window_dims)
        rank = ir.RankedTensorType(self.wholes[0].type).rank
        single = {*numbers.inserted_window_dims, *self.batch}
        self.window = tuple(axis for axis in range(rank) if axis not in single)
        self.axes = range(rank)

    def results(self) -> list[ir.Value]:
        rank = ir.RankedTensorType(self.indices.type).rank
        self.places = [axis for axis in range(rank) if axis != self.vector]
        ends = [size(self.indices, axis) for axis in self.places]
        return repeat_each(ends, self.wholes, self._update)

    def _update(self, places: list[ir.Value], *wholes: ir.Value) -> list[ir.Value]:
        by_axis = dict(zip(self.places, places, strict=True))
        lengths = self._lengths()
        starts: dict[int, ir.Value] = {
            axis: self._start(by_axis, column) for column, axis in enumerate(self.mapped)
        }
        starts |= {axis: by_axis[place] for axis, place in self.batch.items()}
        limits = {axis: self._limit(axis, lengths[axis]) for axis in self.axes}
        inside = self._is_inside(starts, limits)
        # This does not change starts that are inside, but lets slice checks see the bounds.
        starts = {axis: _clamped(start, limits[axis]) for axis, start in starts.items()}
        branch = scf.IfOp(inside, [whole.type for whole in wholes], has_else=True)
        with ir.InsertionPoint(branch.then_block):
            scf.YieldOp(self._updated(by_axis, starts, lengths, wholes))
        with ir.InsertionPoint(branch.else_block):
            scf.YieldOp(list(wholes))
        return list(branch.results)

    def _lengths(self) -> dict[int, Size]:
        """Returns the size of the window along each axis of the operand."""
        lengths: dict[int, Size] = dict.fromkeys(self.axes, 1)
        for axis, place in zip(self.window, self.window_axes, strict=True):
            lengths[axis] = size(self.updates[0], place)
        return lengths

    def _start(self, by_axis: dict[int, ir.Value], column: int) -> ir.Value:
        place = {**by_axis, self.vector: index(column)}
        rank = ir.RankedTensorType(self.indices.type).rank
        start = tensor.ExtractOp(self.indices, [place[axis] for axis in range(rank)]).result
        return arith.IndexCastOp(ir.IndexType.get(), start).result

    def _limit(self, axis: int, length: Size) -> ir.Value:
        """Returns the largest start of a window that is inside; negative if there is none."""
        return arith.SubIOp(index(size(self.wholes[0], axis)), index(length)).result

    def _is_inside(self, starts: dict[int, ir.Value], limits: dict[int, ir.Value]) -> ir.Value:
        zero = index(0)
        inside = arith.ConstantOp(ir.IntegerType.get_signless(1), ir.BoolAttr.get(True)).result
        for axis in self.axes:
            start = starts.get(axis, zero)
            for low, high in ((zero, start), (start, limits[axis])):
                holds = arith.CmpIOp(arith.CmpIPredicate.sle, low, high).result
                inside = arith.AndIOp(inside, holds).result
        return inside

    def _updated(
        self,
        by_axis: dict[int, ir.Value],
        starts: dict[int, ir.Value],
        lengths: dict[int, Size],
        wholes: tuple[ir.Value, ...],
    ) -> list[ir.Value]:
        offsets = tuple(starts.get(axis, 0) for axis in self.axes)
        there = Slice(offsets, tuple(lengths[axis] for axis in self.axes), self.window)
        # Axes of the updates outside of the window correspond to those of the indices, in order.
        rank = ir.RankedTensorType(self.updates[0].type).rank
        others = [axis for axis in range(rank) if axis not in self.window_axes]
        rows = {axis: by_axis[place] for axis, place in zip(others, self.places, strict=True)}
        new = [Slice.at(each, rows).take(each) for each in self.updates]
        old = [there.take(whole) for whole in wholes]
        combined = mapped(self.scatter, [*old, *new])
        return [there.put(part, whole) for part, whole in zip(combined, wholes, strict=True)]


def _clamped(start: ir.Value, limit: ir.Value) -> ir.Value:
    return arith.MaxSIOp(arith.MinSIOp(start, limit).result, index(0)).result
