"""Installs a headless Chromium, where there is none and it may: tests open HTML pages in it.

    ./pixiw run browser

Where it may not (no root, no apt, no network) it says so and succeeds: the tests that need a
browser are then skipped, with the reason shown.
"""

from __future__ import annotations

import shutil
import sys

from apt_packages import install

# As the tests look for it; the first one is the smallest to install.
NAMES = ("chromium-headless-shell", "chromium", "google-chrome")


def main() -> int:
    """Installs what is missing; returns 0, whatever came of it."""
    if any(map(shutil.which, NAMES)):
        return 0
    reason = install(NAMES[:1])
    # Older distributions have the browser as a whole only.
    if reason is not None:
        reason = install(NAMES[1:2])
    if reason is not None:
        print(f"no browser, tests in one will be skipped: {reason}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
