"""The model names of libraries, recorded so that listing them imports no library.

`models.yaml` has, for each source, the version of its library, and the name and task of each model.
`./pixiw run sweep SOURCE --record` writes it.
"""

from __future__ import annotations

import functools
import itertools
from pathlib import Path

from unmess.core.files.writing import write_text

FILE = Path(__file__).with_name("models.yaml")
# The library that defines the names of a source.
LIBRARIES = {"torchvision": "torchvision", "hf": "transformers"}


def named_models(source: str) -> dict[str, str]:
    """Returns the task of each model of a source, by name.

    These are the recorded names if they match the installed version of the library. Otherwise the
    library lists them, which takes seconds to import.
    """
    recorded = recorded_models(source)
    return ask_library(source) if recorded is None else recorded


def recorded_models(source: str) -> dict[str, str] | None:
    """Returns the recorded names; None if they are of another version than the installed one."""
    entry = _read(FILE).get(source, {})
    return entry["models"] if entry.get("version") == _version(source) else None


def types_without_model() -> list[str]:
    """Returns the recorded model types of transformers with a configuration but no model class."""
    return _read(FILE)["hf"]["without_model"]


def ask_library(source: str) -> dict[str, str]:
    """Returns the names that the installed library lists, with their tasks."""
    if source == "torchvision":
        from importers.sources import torchvision

        return {name: torchvision.task(name) for name in torchvision.names()}
    from importers.sources import huggingface

    return dict(huggingface.model_types())


def record_models(source: str, path: Path = FILE) -> None:
    """Writes the names of the installed library. Names of other sources are kept."""
    import yaml

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
    import importlib.metadata

    return importlib.metadata.version(LIBRARIES[source])


@functools.cache
def _read(path: Path) -> dict:
    # Imported here, because the import takes 0.07 s, and models in files need no names.
    import yaml

    # The C loader takes 12 ms, the Python loader 0.3 s.
    return yaml.load(path.read_text(), yaml.CSafeLoader) or {}
