"""Reads `UNMESS_REQUIRE`, the environment variable with the devices that a test run must have.

It is a list of names, `vulkan browser docs` in CI. If a required device is missing,
`./pixiw run test` and the tests on that device fail. If another device is missing, its tests are
skipped. `docs` stands for the packages of the environment `docs`, which the site is built with.
"""

from __future__ import annotations

import os
import sys

VARIABLE = "UNMESS_REQUIRE"
NAMES = ("vulkan", "browser", "docs")


def is_required(name: str) -> bool:
    """Returns True if tests on this device must run.

    Raises:
        ValueError: the variable holds an unknown name, or `name` is one.
    """
    required = os.environ.get(VARIABLE, "").split()
    if unknown := {name, *required}.difference(NAMES):
        raise ValueError(f"{VARIABLE}: unknown {', '.join(unknown)}; known: {', '.join(NAMES)}")
    return name in required


def report_missing(name: str, reason: str) -> int:
    """Prints that a device is missing. Returns the exit status: 1 if it is required, else 0."""
    required = is_required(name)
    end = f"and {VARIABLE} requires one" if required else "tests on one will be skipped"
    print(f"no {name} device, {end}: {reason}", file=sys.stderr)
    return int(required)
