"""Decides which files are a model's own source code, so that reports may quote their lines.

A location in IR or in a saved program may name any file. Quoting its lines could copy a secret into
a report that is passed on.
"""

from __future__ import annotations

import linecache
import os
import sys
from pathlib import Path

_SUFFIXES = (".py", ".mlir")
# Folders of the model files that this process has opened.
_folders: set[str] = set()


def add_model_file(path: str | Path) -> None:
    """Allows quotes from source files in and below the folder of a model's file."""
    _folders.add(os.path.join(os.path.realpath(Path(path).expanduser().parent), ""))


def source_text(line: str | None) -> str:
    """Returns the text of `file:line`; empty if the file is missing or no source of the model."""
    file, _, number = (line or "").rpartition(":")
    if not (number.isdigit() and _is_own(file)):
        return ""
    return linecache.getline(file, int(number)).strip()


def _is_own(file: str) -> bool:
    """Returns whether a file is source code beside a model, or a Python module of this process."""
    place = os.path.realpath(file)
    if not (place.endswith(_SUFFIXES) and os.path.isfile(place)):
        return False
    if place.startswith(tuple(_folders)):
        return True
    modules = (getattr(module, "__file__", None) for module in tuple(sys.modules.values()))
    return any(os.path.realpath(name) == place for name in modules if name)
