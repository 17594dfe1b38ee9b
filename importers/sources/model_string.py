"""Checks model strings without importing libraries, so that typos are reported immediately."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from importers.recipes import list_recipes
from importers.recipes.models import recorded_models, types_without_model
from unmess.core.error import Error
from unmess.core.names import IR_SUFFIXES
from unmess.core.suggest import did_you_mean, nearest

PREFIXES = ("torchvision", "hf")
PYTHON_FILE = re.compile(r"(?P<path>.+\.py)(?::(?P<name>.*))?")
# The file suffixes of each source that reads files.
FILE_SUFFIXES = ((".pt2",), (".pt", ".pth"), (".onnx",), IR_SUFFIXES)
FORMS = (
    "file.py:name, torchvision:NAME, hf:TYPE, hf:FOLDER, hf:ORG/NAME, file.pt2 (ExportedProgram), "
    "file.pt (TorchScript), file.onnx, file.mlir or file.jax_export"
)
# The most characters of a model string in a message.
_SHOWN = 100
LISTED = "`unmess models` lists them"


def check_model_string(model: str) -> None:
    """Checks that a model string names an existing file or a known model of a library.

    If the version of a library differs from the recorded one, the library checks its names later.

    Raises:
        Error: stage `source`.
    """
    try:
        _check_model_string(model)
    except OSError as problem:
        # The name is too long, or in a folder that the user may not search.
        shown = model if len(model) <= _SHOWN else model[: _SHOWN - 1] + "…"
        raise Error("source", f"cannot look for {shown}: {problem.strerror}") from problem


def _check_model_string(model: str) -> None:
    prefix, colon, rest = model.partition(":")
    if colon and prefix in PREFIXES:
        check_library_name(prefix, rest)
    elif python := PYTHON_FILE.fullmatch(model):
        existing_python_file(python["path"])
    else:
        suffixes = next((each for each in FILE_SUFFIXES if Path(model).suffix in each), None)
        if suffixes is None:
            raise _unknown(model, prefix if colon else None, rest)
        existing_file(model, suffixes)


def is_model_string(model: str) -> bool:
    """Returns True if `check_model_string` accepts a string."""
    try:
        check_model_string(model)
    except Error:
        return False
    return True


def check_library_name(source: str, name: str) -> None:
    """Checks a name after `torchvision:` or `hf:` against the recorded ones.

    Raises:
        Error: stage `source`.
    """
    recorded = recorded_models(source)
    if recorded is None:
        return
    if source == "torchvision":
        name = name.partition("@")[0]
        if name not in recorded:
            raise unknown_torchvision_model(name, list(recorded))
        return
    base = name.partition("#")[0]
    is_path = "/" in name or any(Path(each).expanduser().exists() for each in (name, base))
    if not is_path and base not in recorded:
        raise unknown_model_type(base, list(recorded), types_without_model())


def unknown_torchvision_model(name: str, names: Sequence[str]) -> Error:
    """Returns the Error for a name that torchvision does not have."""
    hint = did_you_mean(name, names, LISTED)
    return Error("source", f"torchvision has no model {name!r}", hint=hint)


def unknown_model_type(name: str, types: Sequence[str], without_model: Sequence[str]) -> Error:
    """Returns the Error for a model type that is unknown to transformers or has no model class."""
    if name in without_model:
        return Error(
            "source",
            f"transformers has a configuration for {name}, but no model class of its own",
            hint="write a factory in a Python file: it returns (module, args, kwargs)",
        )
    otherwise = f"{LISTED}; a folder is hf:./FOLDER, a hub name hf:ORG/NAME"
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


def _unknown(model: str, prefix: str | None, rest: str) -> Error:
    if prefix is not None:
        meant = [f"{candidate}:{rest}" for candidate in nearest(prefix, PREFIXES)]
        return Error(
            "source",
            f"unknown source {prefix!r} in {model!r}",
            hint=did_you_mean(model, meant, f"a model string is {FORMS}"),
        )
    if (Path(model) / "config.json").is_file():
        return Error("source", f"{model} is a folder", hint=f"did you mean hf:{model}?")
    if Path(model).exists():
        return Error("source", f"{model} is not a model", hint=f"a model string is {FORMS}")
    by_name: dict[str, list[str]] = {}
    for recipe in list_recipes():
        by_name.setdefault(recipe.model.partition(":")[2], []).append(recipe.model)
    names = [model] if model in by_name else nearest(model, by_name)
    meant = [string for name in names for string in by_name[name]]
    hint = f"did you mean {' or '.join(meant[:3])}?" if meant else f"a model string is {FORMS}"
    return Error("source", f"unknown model {model!r}", hint=hint)
