"""Dependencies of a captured program besides its request, and whether they have changed."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from unmess.core.files.reading import checksum
from unmess.program_cache.environment import user_folders

# Files with more bytes are identified by size, place and times: reading them would take longer than
# a command takes to start.
_READ = 4 << 20
# File name extensions of modules; a package is a folder, whose name has none.
_MODULES = ("py", "pyc", "so", "")


def identity(path: str | Path) -> dict[str, Any] | None:
    """Returns data that changes when a file changes; None if there is no file.

    Small files are identified by their content, large ones by their place on the disk, size and
    times. Every write changes a file's change time (ctime).

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
    """Returns the names in a folder, sorted; none if it cannot be listed."""
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def providers(folders: Iterable[str], names: Iterable[str]) -> dict[str, list[str]]:
    """Returns where Python finds each module: the first folder that has it, and its files there.

    Args:
        folders: in the order in which Python searches them.
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
    """Returns a digest of an environment variable's value, which may be a secret."""
    return None if value is None else hashlib.sha256(value.encode(errors="replace")).hexdigest()


def first_change(known: Mapping[str, Any]) -> str | None:
    """Returns the first dependency that has changed, as text; None if none has.

    Args:
        known: `files`, `folders`, `modules` and `variables`, as `Watch.dependencies` returns them.
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
            return f"the location of the module {name}"
    return None


def providers_now(folders: Iterable[str], names: Iterable[str]) -> dict[str, list[str]]:
    """Returns `providers` of the given folders, followed by the user's folders on `sys.path`."""
    return providers(dict.fromkeys((*folders, *user_folders())), names)
