"""Installs packages of the system, where there is apt and this process may use it."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence

_SECONDS = 300


def install(packages: Sequence[str]) -> str | None:
    """Why the packages were not installed; None where they were."""
    wanted = " ".join(packages)
    if not shutil.which("apt-get"):
        return f"without apt, {wanted} are for you to install"
    if os.geteuid() != 0:
        return f"sudo apt-get install {wanted}"
    get = ["apt-get", "install", "--yes", "--no-install-recommends", *packages]
    for command in (get, ["apt-get", "update"], get):
        problem = _run(command)
        if problem is None and command is get:
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
