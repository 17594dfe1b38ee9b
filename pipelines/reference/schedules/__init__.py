"""How operations become vector code: one file per idea."""

from __future__ import annotations

from pipelines.reference.schedules import contraction, windows

# The first that takes an operation is used.
SCHEDULES = (contraction.rewrite, windows.rewrite)
