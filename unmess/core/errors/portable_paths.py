"""Paths that do not depend on where the project and its environment are installed.

Cached results contain source locations. With these paths, two checkouts of the project share them.
"""

from __future__ import annotations

import os
import sysconfig
from pathlib import Path

# The first folder that contains a path counts: the environment may be a folder of the project.
_FOLDERS = {
    "<environment>": f"{sysconfig.get_path('purelib')}{os.sep}",
    "<project>": f"{Path(__file__).resolve().parents[3]}{os.sep}",
}


def portable_path(path: str) -> str:
    """Returns a path with a name in place of the project's or environment's folder."""
    for name, folder in _FOLDERS.items():
        if path.startswith(folder):
            return f"{name}{os.sep}{path[len(folder) :]}"
    return path


def portable_text(text: str) -> str:
    """Returns a text in which each path of the project or environment is as in `portable_path`."""
    for name, folder in _FOLDERS.items():
        text = text.replace(folder, f"{name}{os.sep}")
    return text


def local_path(path: str) -> str:
    """Returns the path on this machine of a path from `portable_path`."""
    name, separator, rest = path.partition(os.sep)
    return _FOLDERS[name] + rest if separator and name in _FOLDERS else path
