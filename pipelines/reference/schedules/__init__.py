"""Schedules, which rewrite operations as vector code. One file per schedule or shared part."""

from pipelines.reference.schedules import byte_contraction, contraction, windows, winograd

# The first schedule that supports an operation is used.
SCHEDULES = (winograd.rewrite, contraction.rewrite, byte_contraction.rewrite, windows.rewrite)
