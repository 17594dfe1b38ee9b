"""This computer's processor, as the system describes it."""

from __future__ import annotations

import platform
from functools import cache
from pathlib import Path


def processor() -> str:
    """What decides which code is made on this computer: LLVM goes by the model and the features."""
    found = _first_processor()
    names = ("vendor_id", "cpu family", "model", "stepping", "flags")
    return repr((platform.machine(), [found.get(name) for name in names]))


def processor_flags() -> frozenset[str]:
    """Its features, as Linux calls them; none where the system does not say."""
    return frozenset(_first_processor().get("flags", "").split())


@cache
def _first_processor() -> dict[str, str]:
    info = Path("/proc/cpuinfo")
    text = info.read_text().split("\n\n")[0] if info.exists() else ""
    fields = (line.partition(":") for line in text.splitlines())
    return {name.strip(): value.strip() for name, _, value in fields}
