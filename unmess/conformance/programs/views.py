"""Reshapes, slices, permutations, concatenations and padding."""

from __future__ import annotations

import math

from unmess.conformance.programs.builder import Builder, Family, Skip
from unmess.conformance.programs.values import BOOL, COMPLEX, FLOATS, INTEGERS, REAL

VIEWS = Family()


def _divisors(n: int) -> list[int]:
    return [d for d in range(1, n + 1) if n % d == 0] or [1]


@VIEWS.add(exact=True)
def reshape(b: Builder) -> str:
    x = b.tensor()
    count, shape = b[x].numel(), []
    for _ in range(b.integer(0, 3)):
        if count:
            shape.append(b.pick(*_divisors(count)))
            count //= shape[-1]
    shape.append(count)
    if b.chance(25) and 0 not in shape:
        shape[b.integer(0, len(shape) - 1)] = -1
    return f"{x}.reshape({shape})"


@VIEWS.add(exact=True)
def flatten(b: Builder) -> str:
    x = b.tensor(rank=(1, 4))
    first = b.integer(0, b[x].dim() - 1)
    return f"{x}.flatten({first}, {b.integer(first, b[x].dim() - 1)})"


@VIEWS.add(exact=True)
def unflatten(b: Builder) -> str:
    x = b.tensor(rank=(1, 3))
    axis = b.axis(x)
    size = b[x].shape[axis]
    part = b.pick(*_divisors(size))
    return f"{x}.unflatten({axis}, ({part}, {size // part}))"


@VIEWS.add(exact=True)
def permute(b: Builder) -> str:
    x = b.tensor(rank=(1, 4))
    order, left = [], list(range(b[x].dim()))
    while left:
        order.append(left.pop(b.integer(0, len(left) - 1)))
    return f"{x}.permute({order})"


@VIEWS.add(exact=True)
def transpose(b: Builder) -> str:
    x = b.tensor(rank=(2, 4))
    return b.pick(
        f"{x}.mT",
        f"{x}.transpose({b.axis(x)}, {b.axis(x)})",
        f"{x}.mT.contiguous()",
        f"{x}.movedim(0, -1)",
    )


@VIEWS.add(exact=True)
def expand(b: Builder) -> str:
    x = b.tensor(rank=(0, 3))
    shape = [b.integer(1, 3), *(b.integer(1, 4) if size == 1 else -1 for size in b[x].shape)]
    return f"{x}.expand({shape if b.chance(60) else shape[1:]})"


@VIEWS.add(exact=True)
def part(b: Builder) -> str:
    x = b.tensor(rank=(1, 4))
    slices = []
    for size in b[x].shape[: b.integer(1, b[x].dim())]:
        start, stop = b.integer(-size, size), b.integer(-size, size + 1)
        slices.append(
            b.pick(":", "::2", "1:", f"{start}:", f":{stop}", f"{start}:{stop}:3", "None, :")
        )
    dots = "..., " if b.chance(20) else ""
    return f"{x}[{dots}{', '.join(slices)}]"


@VIEWS.add(exact=True)
def select(b: Builder) -> str:
    x = b.tensor(rank=(1, 4))
    axis = b.axis(x)
    size = b[x].shape[axis]
    if size == 0:
        raise Skip
    return f"{x}.select({axis}, {b.integer(-size, size - 1)})"


@VIEWS.add(exact=True)
def narrow(b: Builder) -> str:
    x = b.tensor(rank=(1, 4))
    axis = b.axis(x)
    start = b.integer(0, b[x].shape[axis])
    return f"{x}.narrow({axis}, {start}, {b.integer(0, b[x].shape[axis] - start)})"


@VIEWS.add(exact=True)
def flip(b: Builder) -> str:
    x = b.tensor(rank=(1, 4))
    return f"{x}.flip({b.axes(x)})"


@VIEWS.add(exact=True)
def roll(b: Builder) -> str:
    x = b.tensor(rank=(1, 4))
    if b.chance(30):
        return f"{x}.roll({b.integer(-4, 4)})"
    axes = b.axes(x)
    return f"{x}.roll({[b.integer(-4, 9) for _ in axes]}, {axes})"


@VIEWS.add(exact=True)
def turn(b: Builder) -> str:
    return f"torch.rot90({b.tensor(rank=(2, 3))}, {b.integer(-1, 4)})"


@VIEWS.add(exact=True)
def windows(b: Builder) -> str:
    x = b.tensor(rank=(1, 3))
    axis = b.axis(x)
    size = b[x].shape[axis]
    if size == 0:
        raise Skip
    return f"{x}.unfold({axis}, {b.integer(1, size)}, {b.integer(1, 3)})"


@VIEWS.add(exact=True)
def unit_dimensions(b: Builder) -> str:
    x = b.tensor(rank=(0, 4))
    rank = b[x].dim()
    if rank and b.chance(50):
        return b.pick(f"{x}.squeeze()", f"{x}.squeeze({b.axis(x)})", f"{x}.squeeze({b.axes(x)})")
    return f"{x}.unsqueeze({b.integer(-rank - 1, rank)})"


@VIEWS.add(exact=True)
def stack(b: Builder) -> str:
    x = b.tensor(rank=(0, 3))
    same = [n for n, v in b.values.items() if v.shape == b[x].shape]
    others = [b.use(b.pick(*same)) for _ in range(b.integer(0, 2))]
    rank = b[x].dim()
    return f"torch.stack([{', '.join([x, *others])}], {b.integer(-rank - 1, rank)})"


@VIEWS.add(exact=True)
def concatenate(b: Builder) -> str:
    x = b.tensor(rank=(1, 4))
    axis = b.axis(x)
    shape = list(b[x].shape)
    operands = [x]
    for _ in range(b.integer(1, 2)):
        same = [
            n
            for n, v in b.values.items()
            if v.dim() == len(shape)
            and all(
                m == n or i == axis % len(shape)
                for i, (m, n) in enumerate(zip(v.shape, shape, strict=True))
            )
        ]
        operands.append(b.use(b.pick(*same)))
    if b.chance(30):
        shape[axis] = b.size()
        operands.append(b.new(shape, b[x].dtype if b.chance(70) else b.pick(*REAL), "small"))
    return f"torch.cat([{', '.join(operands)}], {axis})"


@VIEWS.add(exact=True)
def parts(b: Builder) -> str:
    x = b.tensor(rank=(1, 4))
    axis = b.axis(x)
    size = b[x].shape[axis]
    if size == 0:
        raise Skip
    first = b.integer(0, size)
    return b.pick(
        f"{x}.split({b.integer(1, size)}, {axis})[{b.pick(0, -1)}]",
        f"{x}.split([{first}, {size - first}], {axis})[{b.pick(0, 1)}]",
        f"{x}.chunk({b.integer(1, 3)}, {axis})[-1]",
        f"{x}.tensor_split({b.integer(1, 3)}, {axis})[0]",
        f"{x}.unbind({axis})[{b.integer(0, size - 1)}]",
    )


@VIEWS.add(exact=True)
def repeat(b: Builder) -> str:
    x = b.tensor(rank=(0, 3))
    times = [b.integer(1, 3) for _ in range(b[x].dim())]
    if not times:
        return f"{x}.repeat(2)"
    return b.pick(
        f"{x}.repeat({[b.integer(0, 2), *times]})",
        f"{x}.tile({times})",
        f"{x}.repeat_interleave({b.integer(1, 3)}, {b.axis(x)})",
    )


@VIEWS.add(exact=True)
def pad(b: Builder) -> str:
    x = b.tensor((*REAL, *COMPLEX, *BOOL), (1, 4))
    amounts = [b.integer(-1, 3) for _ in range(2 * b.integer(1, b[x].dim()))]
    return f"F.pad({x}, {amounts}, value={b.pick(0, 1, 2)})"


@VIEWS.add(exact=True)
def pad_by_its_own(b: Builder) -> str:
    x = b.tensor(FLOATS, (2, 4))
    count = b[x].dim() - 1 if b.chance(50) else max(b[x].dim() - 2, 1)
    amounts = [b.integer(0, 2) for _ in range(2 * count)]
    return f"F.pad({x}, {amounts}, mode='{b.pick('reflect', 'replicate', 'circular')}')"


@VIEWS.add(exact=True)
def triangle(b: Builder) -> str:
    x = b.tensor(rank=(2, 4))
    return f"torch.{b.pick('tril', 'triu')}({x}, {b.integer(-2, 3)})"


@VIEWS.add(exact=True)
def diagonal(b: Builder) -> str:
    if b.chance(40):
        return f"torch.diag_embed({b.tensor(REAL, (1, 2))}, {b.integer(-1, 1)})"
    return f"{b.tensor(rank=(2, 3))}.diagonal({b.integer(-1, 1)})"


@VIEWS.add(exact=True)
def grid(b: Builder) -> str:
    x, y = b.tensor(rank=(1, 1)), b.tensor(rank=(1, 1))
    return f"torch.meshgrid({x}, {y}, indexing='{b.pick('ij', 'xy')}')[{b.pick(0, 1)}]"


@VIEWS.add(exact=True)
def pixels(b: Builder) -> str:
    shape = (1, 4, 2 * b.integer(1, 3), 2 * b.integer(1, 2))
    x = b.tensor((*FLOATS, *INTEGERS), (4, 4), where=lambda value: value.shape == shape)
    if b[x].shape != shape and math.prod(b[x].shape) >= 0:
        x = b.new(shape, b.pick(*FLOATS), "small")
    return b.pick(
        f"F.pixel_shuffle({x}, 2)", f"F.pixel_unshuffle({x}, 2)", f"F.channel_shuffle({x}, 2)"
    )
