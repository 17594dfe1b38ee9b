"""Looks up files in a folder, or in the hub and its cache."""

from __future__ import annotations

import os
from pathlib import Path

from huggingface_hub import model_info, try_to_load_from_cache
from huggingface_hub.errors import HFValidationError, RepositoryNotFoundError

from unmess.core.errors.error import Error, first_line


def is_there(path: str, name: str) -> bool:
    """Returns True if the folder, or the cache of the hub, has a file of this name."""
    if os.path.isdir(path):
        return (Path(path) / name).is_file()
    try:
        return isinstance(try_to_load_from_cache(path, name), str)
    except HFValidationError:
        return False


def ask_hub(name: str) -> None:
    """Raises an Error if the hub cannot be reached or has no such model.

    Loading would also fail, but only after half a minute of retries for each file.
    """
    try:
        model_info(name, timeout=10)
    except (RepositoryNotFoundError, HFValidationError) as problem:
        raise Error(
            "source",
            f"the hub has no public model {name}",
            hint="check the name; a local folder is hf:./FOLDER",
        ) from problem
    except Exception as problem:
        raise Error(
            "source",
            f"the hub cannot be reached, and {name} is not in its cache: {first_line(problem)}",
            hint="a local folder needs no network: hf:./FOLDER",
        ) from problem
