"""Installs Mesa's lavapipe, a Vulkan device on the CPU, where there is no Vulkan device and it may.

    ./pixiw run vulkan

Where it may not (no root, no apt, no network) it says so and succeeds: the tests that need a device
are then skipped, with the reason shown.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

from pipelines.iree.devices import devices

PACKAGES = ("mesa-vulkan-drivers", "libvulkan1")
_SECONDS = 300


def main() -> int:
    """Installs what is missing; returns 0, whatever came of it."""
    if devices("vulkan").default is None:
        devices.cache_clear()
        reason = _install()
        found = devices("vulkan").default
        if found is None:
            reason = reason or devices("vulkan").problem
            print(f"no Vulkan device, tests on one will be skipped: {reason}", file=sys.stderr)
    return 0


def _install() -> str | None:
    """Why the packages were not installed; None where they were."""
    wanted = " ".join(PACKAGES)
    if not shutil.which("apt-get"):
        return f"without apt, {wanted} are for you to install"
    if os.geteuid() != 0:
        return f"sudo apt-get install {wanted}"
    install = ["apt-get", "install", "--yes", "--no-install-recommends", *PACKAGES]
    for command in (install, ["apt-get", "update"], install):
        problem = _run(command)
        if problem is None and command is install:
            return None
    return problem


def _run(command: list[str]) -> str | None:
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_SECONDS,
            env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
        )
    except subprocess.TimeoutExpired:
        return f"{' '.join(command)} took more than {_SECONDS} s"
    if done.returncode == 0:
        return None
    lines = [line for line in done.stderr.splitlines() if line.strip()]
    return lines[-1] if lines else f"{' '.join(command)} failed"


if __name__ == "__main__":
    sys.exit(main())
