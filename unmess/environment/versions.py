"""The versions that a result depends on.

This module does not import PyTorch.
"""

from __future__ import annotations

import importlib.metadata
import platform

_PACKAGES = (
    *("unmess", "torch", "torch-mlir", "iree-base-compiler", "iree-base-runtime"),
    *("torchvision", "transformers", "numpy"),
)


def package_versions() -> dict[str, str]:
    """Returns the versions of packages."""
    found = {}
    for name in _PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def versions() -> dict[str, str]:
    """Returns the versions of packages, of Python and of the system, and the processor."""
    processor = _processor()
    return package_versions() | {
        "python": platform.python_version(),
        "system": platform.platform(),
        **({"processor": processor} if processor else {}),
    }


def _processor() -> str | None:
    try:
        with open("/proc/cpuinfo") as file:
            lines = [line.partition(":")[2].strip() for line in file if "model name" in line]
    except OSError:
        return platform.processor() or None
    return lines[0] if lines else None
