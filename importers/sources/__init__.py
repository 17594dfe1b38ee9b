"""Model strings: where a model comes from, one file per source."""

from __future__ import annotations

import re
from pathlib import Path

from importers.sources.source import Source
from unmess.core.error import Error
from unmess.core.names import IR_SUFFIXES
from unmess.core.suggest import did_you_mean, nearest

_PREFIXES = ("torchvision", "hf")
_PYTHON_FILE = re.compile(r"(?P<path>.+\.py)(?::(?P<name>.*))?")
_FORMS = (
    "file.py:name, torchvision:NAME, hf:TYPE, hf:FOLDER, hf:ORG/NAME, file.pt2 (ExportedProgram), "
    "file.pt (TorchScript), file.onnx or file.mlir"
)


def find_source(model: str) -> Source:
    """The model that a model string stands for, with example arguments.

    Raises:
        Error: stage `source`.
    """
    # Adapters import the libraries they adapt, so each is imported when it is asked for.
    prefix, colon, rest = model.partition(":")
    if colon and prefix == "torchvision":
        from importers.sources import torchvision

        return torchvision.find(rest)
    if colon and prefix == "hf":
        from importers.sources import huggingface

        return huggingface.find(rest)
    python = _PYTHON_FILE.fullmatch(model)
    if python:
        from importers.sources import python_file

        return python_file.find(python["path"], python["name"] or None)
    suffix = Path(model).suffix
    if suffix == ".pt2":
        from importers.sources import exported_program

        return exported_program.find(model)
    if suffix in (".pt", ".pth"):
        from importers.sources import torchscript

        return torchscript.find(model)
    if suffix == ".onnx":
        from importers.sources import onnx

        return onnx.find(model)
    if suffix in IR_SUFFIXES:
        from importers.sources import mlir_file

        return mlir_file.find(model)
    raise _unknown(model, prefix if colon else None, rest)


def decoder_of(model: str) -> str | None:
    """The decoder itself, where a model string is one with its cache: `hf:NAME#generate`.

    Returns:
        None for any other model string.

    Raises:
        Error: stage `source`; the model has no such form.
    """
    prefix, _, rest = model.partition(":")
    if prefix != "hf":
        return None
    from importers.sources import huggingface

    decoder = huggingface.decoder_of(rest)
    return decoder and f"hf:{decoder}"


def _unknown(model: str, prefix: str | None, rest: str) -> Error:
    if prefix is not None:
        meant = [f"{candidate}:{rest}" for candidate in nearest(prefix, _PREFIXES)]
        return Error(
            "source",
            f"unknown source {prefix!r} in {model!r}",
            hint=did_you_mean(model, meant, f"a model string is {_FORMS}"),
        )
    if (Path(model) / "config.json").is_file():
        return Error("source", f"{model} is a folder", hint=f"did you mean hf:{model}?")
    if Path(model).exists():
        return Error("source", f"{model} is not a model", hint=f"a model string is {_FORMS}")
    from importers.recipes import list_recipes

    # A name whose source was left out is worth the second that listing all names takes.
    by_name: dict[str, list[str]] = {}
    for recipe in list_recipes():
        by_name.setdefault(recipe.model.partition(":")[2], []).append(recipe.model)
    names = [model] if model in by_name else nearest(model, by_name)
    meant = [string for name in names for string in by_name[name]]
    hint = f"did you mean {' or '.join(meant[:3])}?" if meant else f"a model string is {_FORMS}"
    return Error("source", f"unknown model {model!r}", hint=hint)
