"""Installs Mesa's lavapipe, a Vulkan device on the CPU, where there is no Vulkan device and it may.

    ./pixiw run vulkan

Where it may not (no root, no apt, no network) it says so and succeeds: the tests that need a device
are then skipped, with the reason shown.
"""

from __future__ import annotations

import sys

from apt_packages import install

from pipelines.iree.devices import devices

PACKAGES = ("mesa-vulkan-drivers", "libvulkan1")


def main() -> int:
    """Installs what is missing; returns 0, whatever came of it."""
    if devices("vulkan").default is None:
        devices.cache_clear()
        reason = install(PACKAGES)
        found = devices("vulkan").default
        if found is None:
            reason = reason or devices("vulkan").problem
            print(f"no Vulkan device, tests on one will be skipped: {reason}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
