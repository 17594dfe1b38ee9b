"""Casts between all types, complex numbers, and Python numbers."""

from __future__ import annotations

import torch

from unmess.conformance.programs.builder import Builder, Family, Skip
from unmess.conformance.programs.values import ANY, BOOL, COMPLEX, FLOATS, INTEGERS, REAL

TYPES = Family()


@TYPES.add(exact=True)
def cast(b: Builder) -> str:
    x = b.tensor(exact=True)
    dtype = b.pick(*ANY)
    if dtype in INTEGERS and not _fits(b[x], dtype):
        raise Skip
    if b[x].is_complex() and dtype not in COMPLEX:
        raise Skip
    return f"{x}.to({dtype})"


def _fits(value: torch.Tensor, dtype: torch.dtype) -> bool:
    """Returns whether PyTorch defines the cast: integers wrap, floats must be in range."""
    if value.is_complex():
        return False
    if not value.is_floating_point():
        return True
    limits = torch.iinfo(dtype)
    wide = value.double()
    return bool((torch.isfinite(wide) & (wide >= limits.min) & (wide <= limits.max)).all())


@TYPES.add(exact=True)
def cast_of_floats(b: Builder) -> str:
    return f"{b.tensor(FLOATS)}.to({b.pick(*FLOATS)})"


@TYPES.add(exact=True)
def complex_parts(b: Builder) -> str:
    x = b.tensor(COMPLEX)
    return b.pick(
        f"{x}.real",
        f"{x}.imag",
        f"torch.view_as_real({x})",
        f"{x}.conj()",
        f"{x}.mT.conj() if {x}.dim() > 1 else -{x}",
    )


@TYPES.add()
def polar_parts(b: Builder) -> str:
    x = b.tensor(COMPLEX, exact=True)
    return b.pick(f"{x}.abs()", f"{x}.angle()", f"torch.reciprocal({x} + 5)")


@TYPES.add(exact=True)
def complex_of_parts(b: Builder) -> str:
    x = b.tensor(FLOATS[:2])
    return f"torch.complex({x}, {b.partner(x, (b[x].dtype,))})"


@TYPES.add()
def complex_of_polar_parts(b: Builder) -> str:
    x = b.tensor(FLOATS[:2])
    return f"torch.polar({x}, {b.partner(x, (b[x].dtype,))})"


@TYPES.add(exact=True)
def mixed_arithmetic(b: Builder) -> str:
    x = b.tensor()
    return f"{x} {b.pick('+', '*')} {b.partner(x, ANY)}"


@TYPES.add(exact=True)
def size_as_number(b: Builder) -> str:
    x = b.tensor(REAL, (1, 4))
    return f"{x} * {x}.shape[{b.axis(x)}]"


@TYPES.add(exact=True)
def zero_dimensional(b: Builder) -> str:
    """Draws a sum with a tensor of rank 0, which does not change the dtype within a category."""
    x = b.tensor((*REAL, *BOOL), (1, 3))
    return f"{x} + {b.new((), b.pick(*REAL), 'small')}"
