"""Finds the files of a model's tokenizer and processor, in its folder or in the hub's cache."""

from __future__ import annotations

from pathlib import Path

from huggingface_hub import try_to_load_from_cache

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
