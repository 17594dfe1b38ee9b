"""One-line hints and error messages for the drivers of IREE's runtime.

In `unmess.core`, because bundles use it too, and they import nothing of `pipelines`.
"""

from __future__ import annotations

import re

from unmess.core.errors.error import first_line

# Exceptions of IREE's Python bindings. The class depends on the status code.
PROBLEMS = (RuntimeError, ValueError, IndexError)

# Hints, one line each, for drivers that find no device.
_REMEDIES = {
    "vulkan": "install the GPU's Vulkan driver; on the CPU, Debian's mesa-vulkan-drivers and "
    "libvulkan1",
    "cuda": "needs an NVIDIA GPU and its driver, which brings libcuda.so",
    "hip": "needs an AMD GPU and ROCm, which brings libamdhip64.so",
    "metal": "needs macOS",
}


def remedy(driver: str | None) -> str | None:
    """Returns what to install if a driver finds no device, in one line; None if unknown."""
    return _REMEDIES.get(driver)


def short_problem(text: str) -> str:
    """Returns the cause in a message of IREE's runtime, without IREE's source line and advice."""
    message = re.search(r"\b[A-Z_]+; ([^\n]*)", text)
    cause = message[1] if message else first_line(RuntimeError(text))
    return re.split(r"; (?=please|ensure|while invoking)|: please", cause)[0].strip(" :")
