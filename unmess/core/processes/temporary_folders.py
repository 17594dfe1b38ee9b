"""Makes temporary folders that are removed even if the process ends without exit handlers."""

from __future__ import annotations

import os
import tempfile
import weakref

_folders: weakref.WeakSet[tempfile.TemporaryDirectory] = weakref.WeakSet()
# A fork must not remove the folders of its parent.
os.register_at_fork(after_in_child=_folders.clear)


def temporary_folder() -> tempfile.TemporaryDirectory:
    """Returns a new temporary folder, which lives as long as the object.

    Worker processes end with `os._exit` and call `remove_temporary_folders` before it.
    """
    folder = tempfile.TemporaryDirectory(prefix="unmess-")
    _folders.add(folder)
    return folder


def remove_temporary_folders() -> None:
    """Removes the folders that this process made with `temporary_folder` and still has."""
    for folder in list(_folders):
        folder.cleanup()
