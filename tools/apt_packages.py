"""Installs system packages with apt."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence

_SECONDS = 300


def install(packages: Sequence[str], sudo: bool = False) -> str | None:
    """Installs packages as root.

    Args:
        sudo: whether to use sudo, which works only without a password prompt.

    Returns:
        None on success, else the reason for the failure.
    """
    wanted = " ".join(packages)
    if not shutil.which("apt-get"):
        return f"there is no apt; install {wanted} yourself"
    root = os.geteuid() == 0
    if not (root or (sudo and shutil.which("sudo"))):
        return f"not root; run: sudo apt-get install {wanted}"
    # sudo removes most variables from the environment of its command.
    apt = [] if root else ["sudo", "--non-interactive"]
    apt += ["env", "DEBIAN_FRONTEND=noninteractive", "apt-get"]
    get = [*apt, "install", "--yes", "--no-install-recommends", *packages]
    for command in (get, [*apt, "update"], get):
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
        )
    except subprocess.TimeoutExpired:
        return f"{' '.join(command)} took more than {_SECONDS} s"
    if done.returncode == 0:
        return None
    lines = [line for line in done.stderr.splitlines() if line.strip()]
    return lines[-1] if lines else f"{' '.join(command)} failed"
