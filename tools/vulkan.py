"""Installs Mesa's lavapipe, a Vulkan device on the CPU, if there is no Vulkan device.

    ./pixiw run vulkan

If it cannot be installed (no root, no apt, no network), prints why. The exit status is then 1 if
`UNMESS_REQUIRE` names `vulkan`. Otherwise it is 0, and the tests on a Vulkan device are skipped.
"""

from __future__ import annotations

import sys

from apt_packages import install
from required import is_required, report_missing

from pipelines.iree.devices import devices

PACKAGES = ("mesa-vulkan-drivers", "libvulkan1")


def main() -> int:
    """Installs a device if none is found; returns the exit status."""
    if devices("vulkan").default is None:
        devices.cache_clear()
        reason = install(PACKAGES, sudo=is_required("vulkan"))
        found = devices("vulkan")
        if found.default is None:
            return report_missing("vulkan", reason or found.problem)
    return 0


if __name__ == "__main__":
    sys.exit(main())
