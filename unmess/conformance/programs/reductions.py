"""Reductions and scans."""

from __future__ import annotations

import torch

from unmess.conformance.programs.builder import Builder, Family, Skip
from unmess.conformance.programs.values import ANY, BOOL, COMPLEX, FLOATS, INTEGERS, REAL

REDUCTIONS = Family()


def _options(b: Builder, x: str) -> str:
    """Draws the arguments `dim` and `keepdim`; without them, all dimensions are reduced."""
    if b[x].dim() == 0 or b.chance(25):
        return ""
    return f", dim={b.axes(x)}, keepdim={b.pick(False, True)}"


def _axis(b: Builder, x: str) -> str:
    return f"dim={b.axis(x)}, keepdim={b.pick(False, True)}"


@REDUCTIONS.add(exact=True)
def total(b: Builder) -> str:
    x = b.tensor()
    name = b.pick("sum", "nansum") if b[x].is_floating_point() else "sum"
    dtype = (
        f", dtype={b.pick(*FLOATS, *INTEGERS)}" if b.chance(15) and b[x].dtype in INTEGERS else ""
    )
    return f"torch.{name}({x}{_options(b, x)}{dtype})"


@REDUCTIONS.add()
def mean(b: Builder) -> str:
    x = b.tensor((*FLOATS, *COMPLEX))
    return f"torch.mean({x}{_options(b, x)})"


@REDUCTIONS.add(exact=True)
def extreme(b: Builder) -> str:
    x = b.tensor((*REAL, *BOOL))
    if b[x].dim() == 0 or b.chance(25):
        return f"torch.{b.pick('max', 'min', 'amax', 'amin')}({x})"
    return b.pick(
        f"torch.{b.pick('max', 'min')}({x}, {_axis(b, x)}).values",
        f"torch.{b.pick('amax', 'amin')}({x}{_options(b, x)})",
        f"torch.aminmax({x}, {_axis(b, x)})[{b.pick(0, 1)}]",
    )


@REDUCTIONS.add()
def place_of_extreme(b: Builder) -> str:
    x = b.tensor(REAL, exact=True)
    name = b.pick("argmax", "argmin")
    if b[x].dim() == 0 or b.chance(25):
        return f"torch.{name}({x})"
    if b.chance(30):
        return f"torch.{name[3:]}({x}, {_axis(b, x)}).indices"
    return f"torch.{name}({x}, {_axis(b, x)})"


@REDUCTIONS.add()
def any_or_all(b: Builder) -> str:
    x = b.tensor((*BOOL, *REAL), exact=True)
    name = b.pick("any", "all")
    if b[x].dim() == 0 or b.chance(25):
        return f"torch.{name}({x})"
    return f"torch.{name}({x}, {b.pick(_axis(b, x), f'dim={b.axes(x)}')})"


@REDUCTIONS.add(exact=True)
def product(b: Builder) -> str:
    x = b.tensor((*REAL, *BOOL))
    if b[x].is_floating_point():
        # Skip a product that may overflow or underflow, depending on the order of eager's kernel.
        limits, sizes = torch.finfo(b[x].dtype), b[x][b[x].isfinite() & (b[x] != 0)].double().abs()
        if sizes.clamp(min=1).prod() > limits.max or sizes.clamp(max=1).prod() < limits.tiny:
            raise Skip
    if b[x].dim() == 0 or b.chance(25):
        return f"torch.prod({x})"
    return f"torch.prod({x}, {_axis(b, x)})"


@REDUCTIONS.add()
def variance(b: Builder) -> str:
    x = b.tensor(FLOATS, (1, 4))
    # There must be more elements than the correction subtracts.
    axes = b.axes(x)
    if min(b[x].shape[axis] for axis in axes) < 2:
        raise Skip
    call = f"({x}, dim={axes}, correction={b.pick(1, 0)}, keepdim={b.pick(False, True)})"
    # A variance that is only rounding errors cannot be compared, and its square root is large.
    spread = b[x].double().std(axes)
    if spread.numel() and spread.max() <= 0.1:
        raise Skip
    choices = [f"torch.var{call}"]
    if spread.numel() and spread.min() > 0.1:
        choices.append(f"torch.std{call}")
    # Eager's mean of infinities is NaN or infinite, depending on the order of the elements.
    if b[x].isfinite().all():
        choices.append(f"torch.var_mean{call}[{b.pick(0, 1)}]")
    return b.pick(*choices)


@REDUCTIONS.add()
def norm(b: Builder) -> str:
    x = b.tensor((*FLOATS, *COMPLEX))
    order = b.pick("2", "1", "float('inf')", "3", "-float('inf')")
    return f"torch.linalg.vector_norm({x}, {order}{_options(b, x)})"


@REDUCTIONS.add()
def logsumexp(b: Builder) -> str:
    x = b.tensor(FLOATS, (1, 4))
    return f"torch.logsumexp({x}, {b.axes(x)}, keepdim={b.pick(False, True)})"


@REDUCTIONS.add(exact=True)
def running(b: Builder) -> str:
    name = b.pick("cumsum", "cumprod", "cummax", "cummin")
    x = b.tensor(ANY if name == "cumsum" else REAL, (1, 4))
    values = ".values" if name in ("cummax", "cummin") else ""
    return f"torch.{name}({x}, {b.axis(x)}){values}"


@REDUCTIONS.add()
def count(b: Builder) -> str:
    x = b.tensor((*REAL, *BOOL), (1, 4), exact=True)
    return f"torch.count_nonzero({x}, dim={b.axis(x)})"
