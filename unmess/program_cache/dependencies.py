"""What a captured program depends on besides its request, and whether that is as it was."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from unmess.core.files import checksum
from unmess.program_cache.environment import user_folders

# Larger files are known by their size, place and times. Reading them takes longer than a start.
_READ = 4 << 20
# Endings of modules; a package is a folder, whose name has none.
_MODULES = ("py", "pyc", "so", "")


def identity(path: str | Path) -> dict[str, Any] | None:
    """What tells whether a file has changed; None where there is no file.

    Small files are known by their content. A large one is known by its place on the disk, its size
    and its times. No write leaves the time of the last change of a file as it was.

    Raises:
        OSError: the file cannot be read.
    """
    try:
        status = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    if status.st_size <= _READ:
        return {"sha256": checksum(Path(path))}
    return {
        "place": [status.st_dev, status.st_ino],
        "bytes": status.st_size,
        "times": [status.st_mtime_ns, status.st_ctime_ns],
    }


def listing(folder: str | Path) -> list[str]:
    """The names in a folder, sorted; none where there is no folder."""
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def providers(folders: Iterable[str], names: Iterable[str]) -> dict[str, list[str]]:
    """Where Python would find each module: the first folder that has it, and its files there.

    Args:
        folders: in the order in which Python looks.
        names: of top-level modules; those that no folder has are left out.
    """
    wanted = frozenset(names)
    found: dict[str, list[str]] = {}
    for folder in folders:
        here: dict[str, list[str]] = {}
        for entry in listing(folder):
            name, _, ending = entry.partition(".")
            if name in wanted and ending.rpartition(".")[2] in _MODULES:
                here.setdefault(name, [folder]).append(entry)
        found = here | found
    return found


def hidden(value: str | None) -> str | None:
    """A digest of an environment variable, whose value may be a secret."""
    return None if value is None else hashlib.sha256(value.encode(errors="replace")).hexdigest()


def first_change(known: Mapping[str, Any]) -> str | None:
    """The first dependency that is not as it was, for people; None where all are.

    Args:
        known: `files`, `folders`, `modules` and `variables`, as `Watch.dependencies` lists them.
    """
    for name, value in known["variables"].items():
        if hidden(os.environ.get(name)) != value:
            return f"the environment variable {name}"
    for path, names in known["folders"].items():
        if listing(path) != names:
            return path
    for path, before in known["files"].items():
        try:
            if identity(path) != before:
                return path
        except OSError:
            return path
    modules = known["modules"]
    before, now = modules["providers"], providers_now(modules["folders"], modules["names"])
    for name in sorted(before.keys() | now.keys()):
        if before.get(name) != now.get(name):
            return f"the place of the module {name}"
    return None


def providers_now(folders: Iterable[str], names: Iterable[str]) -> dict[str, list[str]]:
    """`providers` in some folders, and then in those of `sys.path` that are the user's."""
    return providers(dict.fromkeys((*folders, *user_folders())), names)
