"""Schedules, which rewrite operations as vector code. One file per schedule or shared part."""

from pipelines.reference.schedules import contraction, windows

# The first schedule that supports an operation is used.
SCHEDULES = (contraction.rewrite, windows.rewrite)
