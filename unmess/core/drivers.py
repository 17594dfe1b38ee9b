"""What the drivers of IREE's runtime need, and what they say, in one line."""

from __future__ import annotations

import re

from unmess.core.error import first_line

# What IREE's Python bindings raise: the class depends on the status code.
PROBLEMS = (RuntimeError, ValueError, IndexError)

# What to install where a driver finds no device, one line.
_REMEDIES = {
    "vulkan": "install the GPU's Vulkan driver; on the CPU, Debian's mesa-vulkan-drivers and "
    "libvulkan1",
    "cuda": "needs an NVIDIA GPU and its driver, which brings libcuda.so",
    "hip": "needs an AMD GPU and ROCm, which brings libamdhip64.so",
    "metal": "needs macOS",
}


def remedy(driver: str | None) -> str | None:
    """What to install where a driver finds no device, one line; None where nothing is known."""
    return _REMEDIES.get(driver)


def short_problem(text: str) -> str:
    """What IREE's runtime says went wrong, without its own source line and what follows."""
    message = re.search(r"\b[A-Z_]+; ([^\n]*)", text)
    cause = message[1] if message else first_line(RuntimeError(text))
    return re.split(r"; (?=please|ensure|while invoking)|: please", cause)[0].strip(" :")
