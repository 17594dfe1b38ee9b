"""Finds files of model strings, and reports missing files and unknown names with similar ones."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from unmess.core.errors.error import Error
from unmess.core.options.names import did_you_mean, nearest

_LISTED = "`unmess models` lists them"


def unknown_torchvision_model(name: str, names: Sequence[str]) -> Error:
    """Returns the Error for a name that torchvision does not have."""
    hint = did_you_mean(name, names, _LISTED)
    return Error("source", f"torchvision has no model {name!r}", hint=hint)


def unknown_model_type(name: str, types: Sequence[str], without_model: Sequence[str]) -> Error:
    """Returns the Error for a model type that is unknown to transformers or has no model class."""
    if name in without_model:
        return Error(
            "source",
            f"transformers has a configuration for {name}, but no model class of its own",
            hint="write a factory in a Python file: it returns (module, args, kwargs)",
        )
    otherwise = f"{_LISTED}; a folder is hf:./FOLDER, a hub name hf:ORG/NAME"
    hint = did_you_mean(name, types, otherwise)
    return Error("source", f"transformers has no model type {name!r}", hint=hint)


def existing_file(path: str, suffixes: Sequence[str]) -> Path:
    """Returns the file at `path`, with `~` expanded.

    Raises:
        Error: stage `source`, with similar names of files with one of `suffixes` as the hint.
    """
    file = Path(path).expanduser()
    if not file.is_file():
        folder = file.parent.iterdir() if file.parent.is_dir() else []
        there = [str(entry) for entry in folder if entry.suffix in suffixes]
        raise Error("source", f"no file {path}", hint=did_you_mean(str(file), there))
    return file


def existing_python_file(path: str) -> Path:
    """Returns the absolute path of the Python file at `path`.

    Raises:
        Error: stage `source`, with the Python files of its folder as the hint.
    """
    file = Path(path).expanduser()
    if file.is_file():
        return file.resolve()
    if file.exists():
        raise Error("source", f"{path} is not a file", hint="give the path of a Python file")
    folder = file.parent
    if not folder.is_dir():
        raise Error("source", f"no file {path}: there is no folder {folder}")
    there = sorted(entry.name for entry in folder.iterdir() if entry.suffix == ".py")
    otherwise = None
    if there:
        shown = ", ".join(there[:5]) + (", …" if len(there) > 5 else "")
        otherwise = f"Python files in that folder: {shown}"
    matches = [str(folder / match) for match in nearest(file.name, there)]
    hint = did_you_mean(str(file), matches, otherwise)
    raise Error("source", f"no file {path}", hint=hint)
