"""The installed environment: its folders, and a digest that changes when a package changes."""

from __future__ import annotations

import functools
import hashlib
import os
import site
import sys
from pathlib import Path

from unmess.core.cache.own_sources import digest_of

_ROOT = Path(__file__).resolve().parents[2]
_OWN = ("unmess", "importers", "pipelines")
# Files of installed packages that pip rewrites with each installation.
_RECORDS = ("RECORD", "METADATA")


@functools.cache
def folders() -> tuple[str, ...]:
    """Returns the folders of the standard library, of installed packages and of unmess.

    Each ends with `/`. Files elsewhere are the user's. The interpreter's folder is included,
    because scripts of packages, such as `unmess`, put their own folder on `sys.path`.
    """
    standard = Path(os.__file__).parent
    found = [standard, standard / "lib-dynload", *map(Path, _package_folders())]
    found.append(Path(sys.executable).parent)
    found += [_ROOT / name for name in _OWN]
    names = {str(each) for each in found} | {os.path.realpath(each) for each in found}
    return tuple(sorted(f"{name}{os.sep}" for name in names))


@functools.cache
def is_installed(path: str) -> bool:
    """Returns whether a file belongs to the environment."""
    return path.startswith(folders()) or os.path.realpath(path).startswith(folders())


@functools.cache
def is_outside(path: str) -> bool:
    """Returns whether `path` is absolute and does not belong to the environment."""
    return os.path.isabs(path) and not is_installed(path)


def user_folders() -> list[str]:
    """Returns the folders on `sys.path` that do not belong to the environment, in order."""
    found = dict.fromkeys(os.path.abspath(folder or os.getcwd()) for folder in sys.path)
    return [folder for folder in found if not is_installed(f"{folder}{os.sep}")]


@functools.cache
def own_digest() -> str:
    """Returns a digest of the sources of unmess, as they were when it was first called.

    The parent of workers calls it as soon as it has imported the sources, before it forks workers.
    """
    return digest_of(*_OWN)


def digest() -> str:
    """Returns a digest of the interpreter, all installed packages and the sources of unmess.

    For each package, it covers the names of its folders, and the time and size of its list of
    files, which each installation rewrites. Reading all files would take longer than the cache
    saves.
    """
    found = hashlib.sha256(f"{sys.version}\0{sys.prefix}".encode())
    for folder in _package_folders():
        found.update(f"\0{folder}".encode())
        for name in sorted(_names(folder)):
            found.update(f"\0{name}".encode())
            for path in _records(folder, name):
                try:
                    status = os.stat(path)
                except OSError:
                    continue
                found.update(f"{status.st_mtime_ns} {status.st_size}".encode())
    found.update(own_digest().encode())
    return found.hexdigest()


def _package_folders() -> list[str]:
    folders = site.getsitepackages()
    if site.ENABLE_USER_SITE:
        folders = [*folders, site.getusersitepackages()]
    return folders


def _names(folder: str) -> list[str]:
    try:
        return [name for name in os.listdir(folder) if name != "__pycache__"]
    except OSError:
        return []


def _records(folder: str, name: str) -> list[str]:
    """Returns the files that change when a package or a single-file module changes."""
    path = os.path.join(folder, name)
    if name.endswith((".dist-info", ".egg-info")):
        return [os.path.join(path, record) for record in _RECORDS]
    return [path] if name.endswith((".py", ".pth", ".so", ".egg-link")) else []
