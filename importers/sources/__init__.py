"""Resolves model strings to models. Each source has a file."""

from __future__ import annotations

from pathlib import Path

from importers.sources.model_string import PYTHON_FILE, check_model_string
from importers.sources.source import Source
from unmess.core.errors.model_sources import add_model_file


def find_source(model: str, trust: bool = False) -> Source:
    """Returns the model of a model string, with example arguments.

    Args:
        trust: whether the model's files may run code. Python files always may.

    Raises:
        Error: stage `source`, also if the files need trust.
    """
    check_model_string(model)
    # The sources import large libraries, so each is imported only when it is needed.
    prefix, colon, rest = model.partition(":")
    if colon and prefix == "torchvision":
        from importers.sources import torchvision

        return torchvision.find(rest)
    if colon and prefix == "hf":
        from importers.sources import huggingface

        return huggingface.find(rest, trust)
    if python := PYTHON_FILE.fullmatch(model):
        from importers.sources import python_file

        add_model_file(python["path"])
        return python_file.find(python["path"], python["name"] or None)
    add_model_file(model)
    suffix = Path(model).suffix
    if suffix == ".pt2":
        from importers.sources import exported_program

        return exported_program.find(model, trust)
    if suffix in (".pt", ".pth"):
        from importers.sources import torchscript

        return torchscript.find(model, trust)
    if suffix == ".onnx":
        from importers.sources import onnx

        return onnx.find(model)
    from importers.sources import mlir_file

    return mlir_file.find(model, trust)


def decoder_of(model: str) -> str | None:
    """Returns the decoder of a model string with a cache: `hf:NAME` for `hf:NAME#generate`.

    Returns:
        None for any other model string.

    Raises:
        Error: stage `source`, for an unknown form after `#`.
    """
    prefix, _, rest = model.partition(":")
    if prefix != "hf":
        return None
    from importers.sources import huggingface

    decoder = huggingface.decoder_of(rest)
    return decoder and f"hf:{decoder}"
