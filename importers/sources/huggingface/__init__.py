"""`hf:TYPE`, `hf:FOLDER`, `hf:FILE.gguf`, `hf:ORG/NAME`: models of Hugging Face's transformers.

- A model type (`bert`, `llama`) is a tiny network of that architecture with random weights.
- A folder is a model as `save_pretrained` writes it: `config.json`, weights, and the tokenizer or
  processor where there is one.
- A GGUF file, or a folder with one and no `config.json`, holds all of these; weights become f32.
- A name with a slash that is no folder is looked up on the hub (and in its cache).
- Any of them with `#generate` behind it is a decoder with its key-value cache, as two entry points,
  `prefill` and `decode`.

Other decoders are called without a key-value cache. Every model gets its inputs by keyword, and
returns its own `ModelOutput`.
"""

from __future__ import annotations

from pathlib import Path

from importers.sources.huggingface.tasks import model_types
from importers.sources.source import Source
from unmess.core.error import Error
from unmess.core.suggest import did_you_mean

__all__ = ["decoder_of", "find", "model_types"]


def find(name: str) -> Source:
    """The model called `name`, in evaluation mode, with one example call.

    Raises:
        Error: stage `source`; the type is unknown or has no tiny form, the folder holds no model,
            or the hub does not give it.
    """
    from importers.sources.huggingface.pretrained import find_pretrained

    if decoder := decoder_of(name):
        from importers.sources.huggingface.generation import with_cache

        return with_cache(find(decoder))
    types = model_types()
    if name in types:
        from importers.sources.huggingface.tiny import find_tiny

        return find_tiny(name)
    path = Path(name).expanduser()
    if path.is_dir():
        return find_pretrained(str(path), path.resolve().name, _only_gguf(path))
    if path.is_file() and path.suffix == ".gguf":
        return find_pretrained(str(path.parent), path.stem, path.name)
    if path.is_file():
        raise Error(
            "source",
            f"{name} is a file",
            hint="give the folder that holds config.json, or a .gguf file",
        )
    if name.count("/") == 1 and not name.startswith((".", "/", "~")):
        return find_pretrained(name, name.rpartition("/")[2])
    if "/" in name:
        raise Error("source", f"no folder {name}", hint="give the folder that holds config.json")
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING_NAMES

    if name in CONFIG_MAPPING_NAMES:
        raise Error(
            "source",
            f"transformers has a configuration for {name}, but no model class of its own",
            hint="write a factory in a Python file: it returns (module, args, kwargs)",
        )
    listed = "`unmess models` lists them; a folder is hf:./FOLDER, a hub name hf:ORG/NAME"
    raise Error(
        "source",
        f"transformers has no model type {name!r}",
        hint=did_you_mean(name, types, listed),
    )


def decoder_of(name: str) -> str | None:
    """The model of a name with `#generate` behind it; None for a name of the model itself.

    Raises:
        Error: stage `source`; something else is behind it.
    """
    base, mark, form = name.partition("#")
    if not mark or Path(name).expanduser().exists():
        return None
    if form != "generate":
        raise Error("source", f"unknown form #{form}", hint=f"hf:{base}#generate is one")
    return base


def _only_gguf(folder: Path) -> str | None:
    """The GGUF file of a folder that has nothing else to load; None where it has."""
    files = sorted(path.name for path in folder.glob("*.gguf"))
    if not files or (folder / "config.json").is_file():
        return None
    if len(files) > 1:
        raise Error(
            "source",
            f"{folder} has {len(files)} GGUF files: {', '.join(files)}",
            hint=f"give one of them, hf:{folder / files[0]}",
        )
    return files[0]
