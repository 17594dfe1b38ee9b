"""The names that libraries give their models, recorded so that listing them imports no library.

`models.yaml` holds for each source the version of its library, each name, and what the model is
for. `./pixiw run sweep SOURCE --record` writes it.
"""

from __future__ import annotations

import functools
import importlib.metadata
import itertools
from pathlib import Path

import yaml

from unmess.core.writing import write_text

FILE = Path(__file__).with_name("models.yaml")
# The library that decides which names a source has.
LIBRARIES = {"torchvision": "torchvision", "hf": "transformers"}


def named_models(source: str) -> dict[str, str]:
    """The task of each model of a source, by name.

    The recorded names, where they are of the installed version of the library. Otherwise the
    library itself lists them, which takes seconds to import.
    """
    recorded = recorded_models(source)
    return ask_library(source) if recorded is None else recorded


def recorded_models(source: str) -> dict[str, str] | None:
    """The recorded names; None if they are of another version than the installed one."""
    entry = _read(FILE).get(source, {})
    return entry["models"] if entry.get("version") == _version(source) else None


def types_without_model() -> list[str]:
    """The recorded model types of transformers that have a configuration and no model class."""
    return _read(FILE)["hf"]["without_model"]


def ask_library(source: str) -> dict[str, str]:
    """The names as the installed library lists them."""
    if source == "torchvision":
        from importers.sources import torchvision

        return {name: torchvision.task(name) for name in torchvision.names()}
    from importers.sources import huggingface

    return dict(huggingface.model_types())


def record_models(source: str, path: Path = FILE) -> None:
    """Writes the names that the installed library has; those of other sources stay."""
    models = ask_library(source)
    entry = {"version": _version(source), "models": models}
    if source == "hf":
        from transformers.models.auto.configuration_auto import CONFIG_MAPPING_NAMES

        entry["without_model"] = sorted(CONFIG_MAPPING_NAMES.keys() - models.keys())
    entries = {**_read(path), source: entry}
    lines = path.read_text().splitlines(keepends=True)
    header = "".join(itertools.takewhile(lambda line: line.startswith("#"), lines))
    write_text(path, header + yaml.safe_dump(entries, width=100))
    _read.cache_clear()


def _version(source: str) -> str:
    return importlib.metadata.version(LIBRARIES[source])


@functools.cache
def _read(path: Path) -> dict:
    # The loader in C takes 12 ms, the one in Python 0.3 s.
    return yaml.load(path.read_text(), yaml.CSafeLoader) or {}
