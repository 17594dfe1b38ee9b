"""Operators that torch-mlir's lowerings make something else of, in a form that they have right.

To TOSA and to StableHLO:

- The sum of booleans is `or`; torch-mlir's is `xor`, or an addition that TOSA does not have.

To StableHLO:

- With `ceil_mode`, the last window of a max pooling may begin inside of the input and end behind
  its padding. torch-mlir pads both ends for it, so that every window is at another place.
- `remainder` has the sign of the divisor; torch-mlir gives it that of the dividend, as `fmod` has.
- `x ** 0.5` is the square root, which is NaN for -inf.
- Indices below 0 count from the back; torch-mlir's gather takes the first element for them.
"""

from __future__ import annotations

from torch_mlir import ir

from pipelines.ir_modules import made
from pipelines.torch_operations import (
    element_of,
    integer_constant,
    rewrite,
    sizes_of,
    value_of,
)
from unmess.core.error import Error
from unmess.core.user_source import location_line

_POOLS = {
    f"torch.aten.max_pool{axes}d{suffix}": axes
    for axes in (1, 2, 3)
    for suffix in ("", "_with_indices")
}


def or_of_booleans(module: ir.Module) -> None:
    """Rewrites sums of booleans in a module at `torch`."""
    rewrite(module, {"torch.aten.add.Tensor": _sum_of_booleans})


def for_stablehlo(module: ir.Module) -> None:
    """Rewrites a module at `torch` in place, for StableHLO.

    Poolings of sizes that are not known stay as they are.

    Raises:
        Error: stage `stablehlo`, where the places of the largest elements of windows beyond the
            input are used: they would be those in the padded input.
    """
    remainders = ("torch.aten.remainder.Tensor", "torch.aten.remainder.Scalar")
    rewrite(
        module,
        {
            **dict.fromkeys(_POOLS, _end_with_windows),
            **dict.fromkeys(remainders, _remainder),
            "torch.aten.pow.Tensor_Scalar": _power,
            "torch.aten.index.Tensor": _count_from_the_front,
            "torch.aten.index.Tensor_hacked_twin": _count_from_the_front,
        },
    )


def _remainder(operation: ir.Operation) -> ir.Value:
    """What torch-mlir makes of it, and once the divisor where the sign is not the divisor's."""
    y = operation.operands[1]
    kind = operation.results[0].type
    truths = _truths(kind)
    suffix = operation.name.rpartition(".")[2]
    left = operation.clone().result
    zero, one = integer_constant(0), integer_constant(1)
    if suffix == "Scalar":
        is_other = made("torch.aten.lt.Scalar", truths, left, zero)
        if value_of(y) < 0:
            is_other = made("torch.aten.gt.Scalar", truths, left, zero)
    else:
        negative = made("torch.aten.lt.Scalar", truths, left, zero)
        is_other = made(
            "torch.aten.ne.Tensor",
            truths,
            negative,
            made("torch.aten.lt.Scalar", _truths(y.type), y, zero),
        )
        nonzero = made("torch.aten.ne.Scalar", truths, left, zero)
        is_other = made("torch.aten.logical_and", truths, is_other, nonzero)
    more = made(f"torch.aten.add.{suffix}", kind, left, y, one)
    return made("torch.aten.where.self", kind, is_other, more, left)


def _sum_of_booleans(operation: ir.Operation) -> ir.Value | None:
    x, y, _ = operation.operands
    kind = operation.results[0].type
    if not all(element_of(value.type) == "i1" for value in (x, y, operation.results[0])):
        return None
    return made("torch.aten.logical_or", kind, x, y)


def _power(operation: ir.Operation) -> ir.Value | None:
    x, exponent = operation.operands
    kind = operation.results[0].type
    if exponent.owner.operation.name != "torch.constant.float" or value_of(exponent) != 0.5:
        return None
    return made("torch.aten.sqrt", kind, x)


def _count_from_the_front(operation: ir.Operation) -> None:
    """Adds the size of its axis to each index below 0."""
    x, indices = operation.operands
    zero, one = integer_constant(0), integer_constant(1)
    found = list(indices.owner.operation.operands)
    for axis, index in enumerate(found):
        if not str(index.type).endswith("si64>"):
            continue
        size = sizes_of(x.type)[axis]
        length = (
            made("torch.aten.size.int", "!torch.int", x, integer_constant(axis))
            if size is None
            else integer_constant(size)
        )
        negative = made("torch.aten.lt.Scalar", _truths(index.type), index, zero)
        moved = made("torch.aten.add.Scalar", index.type, index, length, one)
        found[axis] = made("torch.aten.where.self", index.type, negative, moved, index)
    operation.operands[1] = made("torch.prim.ListConstruct", indices.type, *found)


def _end_with_windows(pool: ir.Operation) -> None:
    """Pads what a max pooling with `ceil_mode` takes, at its end, and takes that from it."""
    if not value_of(pool.operands[5]):
        return
    axes = _POOLS[pool.name]
    x, result = pool.operands[0], pool.results[0]
    sizes, counts = sizes_of(x.type)[-axes:], sizes_of(result.type)[-axes:]
    if None in (*sizes, *counts):
        return
    kernel, stride, padding, dilation = (
        _list(operand, axes) for operand in list(pool.operands)[1:5]
    )
    missing = [
        (count - 1) * (step or width) + (width - 1) * spread + 1 - size - 2 * margin
        for size, count, width, step, margin, spread in zip(
            sizes, counts, kernel, stride or kernel, padding, dilation, strict=True
        )
    ]
    more = [max(length, 0) for length in missing]
    if any(more) and len(pool.results) > 1 and list(pool.results[1].uses):
        raise Error(
            "stablehlo",
            f"{pool.name.removeprefix('torch.')} with ceil_mode has windows beyond its input, "
            "whose places StableHLO has no form for",
            where=location_line(pool.location),
            hint="pad the input in the model, or try --to linalg",
        )
    if any(more):
        pool.operands[0] = _padded(x, more)
    pool.operands[5] = made("torch.constant.bool", "!torch.bool", value=ir.BoolAttr.get(False))


def _padded(x: ir.Value, more: list[int]) -> ir.Value:
    """Elements that no maximum is, behind the last ones of the last axes."""
    element = element_of(x.type)
    if element.startswith("si"):
        lowest = integer_constant(-(2 ** (int(element[2:]) - 1)))
    elif element.startswith("ui"):
        lowest = integer_constant(0)
    else:
        value = ir.FloatAttr.get(ir.F64Type.get(), float("-inf"))
        lowest = made("torch.constant.float", "!torch.float", value=value)
    ends = [integer_constant(each) for length in reversed(more) for each in (0, length)]
    pads = made("torch.prim.ListConstruct", "!torch.list<int>", *ends)
    sizes = sizes_of(x.type)
    ended = sizes[: -len(more)]
    ended += [size + length for size, length in zip(sizes[-len(more) :], more, strict=True)]
    shape = ",".join("?" if size is None else str(size) for size in ended)
    kind = f"!torch.vtensor<[{shape}],{element}>"
    return made("torch.aten.constant_pad_nd", kind, x, pads, lowest)


def _list(value: ir.Value, length: int) -> list[float]:
    """A list of constants; one that has a single element stands for as many as there are axes."""
    found = [value_of(element) for element in value.owner.operation.operands]
    return found * length if len(found) == 1 else found


def _truths(kind: ir.Type) -> str:
    """The type of as many truth values."""
    return f"{str(kind).rpartition(',')[0]},i1>"
