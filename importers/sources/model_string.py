"""Checks model strings without importing libraries, so that typos are reported immediately."""

from __future__ import annotations

import re
from pathlib import Path

from importers.sources.missing import (
    existing_file,
    existing_python_file,
    unknown_model_type,
    unknown_torchvision_model,
)
from importers.sources.models import LIBRARIES, named_models, recorded_models, types_without_model
from unmess.core.errors.error import Error
from unmess.core.options.names import IR_SUFFIXES, did_you_mean, nearest

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
    # Check for a path first: it needs no list of names, which takes time to read.
    base = name.partition("#" if source == "hf" else "@")[0]
    if source == "hf" and _is_path(name, base):
        return
    recorded = recorded_models(source)
    if recorded is None or base in recorded:
        return
    if source == "torchvision":
        raise unknown_torchvision_model(base, list(recorded))
    raise unknown_model_type(base, list(recorded), types_without_model())


def _is_path(name: str, base: str) -> bool:
    return "/" in name or any(Path(each).expanduser().exists() for each in (name, base))


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
    for source in sorted(LIBRARIES):
        for name in named_models(source):
            by_name.setdefault(name, []).append(f"{source}:{name}")
    names = [model] if model in by_name else nearest(model, by_name)
    meant = [string for name in names for string in by_name[name]]
    hint = f"did you mean {' or '.join(meant[:3])}?" if meant else f"a model string is {FORMS}"
    return Error("source", f"unknown model {model!r}", hint=hint)
