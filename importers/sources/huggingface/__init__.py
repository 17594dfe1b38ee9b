"""The sources `hf:TYPE`, `hf:FOLDER`, `hf:FILE.gguf` and `hf:ORG/NAME`: transformers models.

- A model type (`bert`, `llama`) is a tiny network of that architecture with random weights.
- A folder is a model that `save_pretrained` wrote: `config.json`, weights, and a tokenizer or
  processor if there is one.
- A GGUF file, or a folder with one and no `config.json`, contains all of these. Quantized weights
  stay packed.
- A name with a slash that is not a folder is looked up on the hub and in its cache.
- Any of them with the suffix `#generate` is a model with its key-value cache, as two entry points:
  `prefill` and `decode` of a decoder, `encode` and `decode` of an encoder-decoder.

Other decoders are called without a key-value cache. Every model gets its inputs by keyword, and
returns its own `ModelOutput`.
"""

from __future__ import annotations

from pathlib import Path

from importers.sources.huggingface.tasks import model_types
from importers.sources.missing import unknown_model_type
from importers.sources.source import Source
from unmess.core.errors.error import Error

__all__ = ["decoder_of", "find", "model_types"]


def find(name: str, trust: bool = False) -> Source:
    """Returns the model `name` in evaluation mode, with an example call.

    Args:
        trust: whether to import Python code that comes with the model.

    Raises:
        Error: stage `source`, if the type is unknown or has no tiny form, the folder contains no
            model, the hub does not provide it, or it needs trust.
    """
    from importers.sources.huggingface.pretrained import find_pretrained

    if decoder := decoder_of(name):
        from importers.sources.huggingface.generation import with_cache

        return with_cache(find(decoder, trust))
    types = model_types()
    if name in types:
        from importers.sources.huggingface.tiny import find_tiny

        return find_tiny(name)
    path = Path(name).expanduser()
    if path.is_dir():
        return find_pretrained(str(path), path.resolve().name, _only_gguf(path), trust)
    if path.is_file() and path.suffix == ".gguf":
        return find_pretrained(str(path.parent), path.stem, path.name, trust)
    if path.is_file():
        raise Error(
            "source",
            f"{name} is a file",
            hint="give the folder that holds config.json, or a .gguf file",
        )
    if name.count("/") == 1 and not name.startswith((".", "/", "~")):
        return find_pretrained(name, name.rpartition("/")[2], trust=trust)
    if "/" in name:
        raise Error("source", f"no folder {name}", hint="give the folder that holds config.json")
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING_NAMES

    raise unknown_model_type(name, list(types), list(CONFIG_MAPPING_NAMES))


def decoder_of(name: str) -> str | None:
    """Returns the model of a name with the suffix `#generate`; None for a name without suffix.

    Raises:
        Error: stage `source`, for any other suffix.
    """
    base, mark, form = name.partition("#")
    if not mark or Path(name).expanduser().exists():
        return None
    if form != "generate":
        raise Error("source", f"unknown form #{form}", hint=f"use hf:{base}#generate")
    return base


def _only_gguf(folder: Path) -> str | None:
    """Returns the GGUF file of a folder without `config.json`, or None.

    Raises:
        Error: stage `source`, if the folder has several GGUF files.
    """
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
