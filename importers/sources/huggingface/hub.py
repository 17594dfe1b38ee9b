"""Looks up files of models, in a folder or in the hub and its cache."""

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


# The names that save_pretrained writes.
_NAMES = (
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.json",
    "vocab.txt",
    "merges.txt",
    "tokenizer.model",
    "spiece.model",
    "sentencepiece.bpe.model",
    "chat_template.jinja",
    "preprocessor_config.json",
    "processor_config.json",
)
_PREFIX = "hf:"


def tokenizer_files(model: str) -> list[Path]:
    """Returns the files of a model string; none if it is not of Hugging Face or has none."""
    if not model.startswith(_PREFIX):
        return []
    name = model.removeprefix(_PREFIX).partition("#")[0]
    folder = Path(name).expanduser()
    if folder.is_dir():
        return [folder / file for file in _NAMES if (folder / file).is_file()]
    # A GGUF file contains its tokenizer in a form of its own.
    if "/" not in name or folder.is_file():
        return []
    found = [try_to_load_from_cache(name, file) for file in _NAMES]
    return [Path(path) for path in found if isinstance(path, str)]
