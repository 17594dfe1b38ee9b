"""Operators for convolutions, pooling and resizing in one to three dimensions."""

from __future__ import annotations

from unmess.conformance.programs.builder import Builder, Family
from unmess.conformance.programs.values import FLOATS

CONVOLUTIONS = Family()


def _image(b: Builder, dims: int, channels: int, least: int = 1) -> str:
    """Draws a batch of images, earlier or new, whose sizes are at least `least`."""
    fitting = [
        n
        for n, v in b.values.items()
        if v.dtype in FLOATS
        and v.dim() == dims + 2
        and v.shape[1] == channels
        and min(v.shape[2:]) >= least
    ]
    if fitting and b.chance(60):
        return b.use(b.pick(*fitting))
    sizes = [max(b.pick(5, 6, 3, 8, 9, 12 // dims, 1), least) for _ in range(dims)]
    dtype = b.pick(*FLOATS[:2], *FLOATS)
    return b.new((b.pick(1, 2), channels, *sizes), dtype, b.pick("small", "generic"))


def _each(b: Builder, dims: int, low: int, high: int) -> int | tuple[int, ...]:
    if b.chance(60):
        return b.integer(low, high)
    return tuple(b.integer(low, high) for _ in range(dims))


@CONVOLUTIONS.add(exact=True)
def convolution(b: Builder) -> str:
    dims = b.pick(2, 1, 3)
    groups, inner, outer = b.pick(1, 1, 2, 3), b.pick(1, 2, 3), b.pick(1, 2, 4, 8)
    if b.chance(30):
        groups, inner, outer = b.pick(2, 4), 1, 1
    x = _image(b, dims, groups * inner)
    dtype = b[x].dtype
    kernel = [b.pick(3, 1, 2, 4) for _ in range(dims)]
    w = b.new((groups * outer, inner, *kernel), dtype, "small")
    bias = b.new((groups * outer,), dtype, "small") if b.chance(50) else None
    padding = repr(b.pick("same", "valid")) if b.chance(10) else _each(b, dims, 0, 2)
    stride = 1 if padding == "'same'" else _each(b, dims, 1, 3)
    return (
        f"F.conv{dims}d({x}, {w}, {bias}, stride={stride}, padding={padding}, "
        f"dilation={b.pick(1, 1, _each(b, dims, 1, 2))}, groups={groups})"
    )


@CONVOLUTIONS.add(exact=True)
def transposed_convolution(b: Builder) -> str:
    dims = b.pick(2, 1, 3)
    groups, inner, outer = b.pick(1, 1, 2), b.pick(1, 2, 3), b.pick(1, 2, 4)
    if b.chance(20):
        groups, inner, outer = b.pick(2, 4), 1, 1
    x = _image(b, dims, groups * inner)
    dtype = b[x].dtype
    kernel = [b.pick(3, 1, 2) for _ in range(dims)]
    w = b.new((groups * inner, outer, *kernel), dtype, "small")
    bias = b.new((groups * outer,), dtype, "small") if b.chance(50) else None
    stride = b.integer(1, 3)
    return (
        f"F.conv_transpose{dims}d({x}, {w}, {bias}, stride={stride}, padding={b.integer(0, 1)}, "
        f"output_padding={b.integer(0, stride - 1)}, groups={groups}, dilation={b.pick(1, 1, 2)})"
    )


@CONVOLUTIONS.add(exact=True)
def maximum_pooling(b: Builder) -> str:
    dims = b.pick(2, 1, 3)
    x = _image(b, dims, b.pick(1, 2, 3), least=2)
    kernel = _each(b, dims, 1, 3)
    return (
        f"F.max_pool{dims}d({x}, {kernel}, stride={_each(b, dims, 1, 3)}, "
        f"padding={b.pick(0, 0, 1)}, dilation={b.pick(1, 1, 2)}, ceil_mode={b.pick(False, True)})"
    )


@CONVOLUTIONS.add()
def average_pooling(b: Builder) -> str:
    dims = b.pick(2, 1, 3)
    x = _image(b, dims, b.pick(1, 2, 3), least=2)
    return (
        f"F.avg_pool{dims}d({x}, {_each(b, dims, 1, 3)}, stride={_each(b, dims, 1, 3)}, "
        f"padding={b.pick(0, 0, 1)}, ceil_mode={b.pick(False, True)}, "
        f"count_include_pad={b.pick(True, False)})"
    )


@CONVOLUTIONS.add()
def adaptive_pooling(b: Builder) -> str:
    dims = b.pick(2, 1, 3)
    x = _image(b, dims, b.pick(1, 2, 3))
    if b.chance(40):
        return f"F.adaptive_max_pool{dims}d({x}, 1)"
    return f"F.adaptive_avg_pool{dims}d({x}, {_each(b, dims, 1, 4)})"


@CONVOLUTIONS.add()
def norm_pooling(b: Builder) -> str:
    x = _image(b, 2, b.pick(1, 2), least=3)
    return f"F.lp_pool2d({x}.abs(), 2, {b.integer(1, 3)})"


@CONVOLUTIONS.add()
def resize(b: Builder) -> str:
    dims = b.pick(2, 1, 3)
    x = _image(b, dims, b.pick(1, 2))
    smooth = {1: "linear", 2: b.pick("bilinear", "bicubic"), 3: "trilinear"}[dims]
    size = (
        f"size={[b.integer(1, 7) for _ in range(dims)]}"
        if b.chance(50)
        else f"scale_factor={b.pick(2, 0.5, 1.5)}"
    )
    if b.chance(50):
        return f"F.interpolate({x}, {size}, mode='{b.pick('nearest', 'nearest-exact')}')"
    return f"F.interpolate({x}, {size}, mode='{smooth}', align_corners={b.pick(False, True)})"


@CONVOLUTIONS.add(exact=True)
def columns(b: Builder) -> str:
    x = _image(b, 2, b.pick(1, 2), least=3)
    return f"F.unfold({x}, {b.integer(1, 3)}, padding={b.pick(0, 1)}, stride={b.pick(1, 2)})"
