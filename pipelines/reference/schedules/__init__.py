"""Schedules, which rewrite operations as vector code. One file per schedule or shared part."""

from pipelines.reference.schedules import (
    bf16_contraction,
    byte_contraction,
    contraction,
    windows,
    winograd,
)

# The first schedule that supports an operation is used.
SCHEDULES = (
    winograd.rewrite,
    bf16_contraction.rewrite,
    contraction.rewrite,
    byte_contraction.rewrite,
    windows.rewrite,
)
