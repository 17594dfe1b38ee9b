"""Installs a headless Chromium for the tests of HTML pages, if there is no browser.

    ./pixiw run browser

If it cannot be installed (no root, no apt, no network), prints why. The exit status is then 1 if
`UNMESS_REQUIRE` names `browser`. Otherwise it is 0, and the tests in a browser are skipped.
"""

from __future__ import annotations

import shutil
import sys

from apt_packages import install
from required import is_required, report_missing

# The commands that the tests look for. The first one is the smallest package.
NAMES = ("chromium-headless-shell", "chromium", "google-chrome")


def main() -> int:
    """Installs a browser if none is found; returns the exit status."""
    if any(map(shutil.which, NAMES)):
        return 0
    sudo = is_required("browser")
    reason = install(NAMES[:1], sudo)
    # Older distributions only have the full browser.
    if reason is not None:
        reason = install(NAMES[1:2], sudo)
    return 0 if reason is None else report_missing("browser", reason)


if __name__ == "__main__":
    sys.exit(main())
