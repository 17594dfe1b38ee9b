"""`hf:FOLDER` and `hf:ORG/NAME`: a model with its own weights, and its tokenizer or processor."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from importers.sources.huggingface.adjust import adjust
from importers.sources.huggingface.example import parameters, working_example
from importers.sources.huggingface.hub import ask_hub, is_there
from importers.sources.huggingface.text import SENTENCES, decoder_start, shifted
from importers.sources.random_weights import SEED, seeded
from importers.sources.source import Source
from unmess.core.error import Error, first_line

if TYPE_CHECKING:
    from transformers import PreTrainedConfig, PreTrainedModel

_VOCABULARIES = (
    "tokenizer.json",
    "tokenizer.model",
    "vocab.txt",
    "vocab.json",
    "spiece.model",
    "sentencepiece.bpe.model",
)


def find_pretrained(path: str, name: str) -> Source:
    """The model in a folder or on the hub. `path` is what transformers takes."""
    import transformers

    folder = os.path.isdir(path)
    local = is_there(path, "config.json")
    if folder and not local:
        raise Error(
            "source",
            f"{path} has no config.json",
            hint="give a folder that save_pretrained wrote",
        )
    # What the cache of the hub holds is not asked for again.
    if not local:
        ask_hub(path)
    try:
        config = transformers.AutoConfig.from_pretrained(path, local_files_only=local)
        for part in (config, config.get_text_config()):
            if hasattr(part, "use_cache"):
                part.use_cache = False
        model_class = _model_class(config)
        with seeded(), _no_progress_bar():
            model, loaded = model_class.from_pretrained(
                path, config=config, local_files_only=local, output_loading_info=True
            )
            model.eval()
            tokenizer = _tokenizer(path, local)
            kwargs = _example(model, tokenizer)
            notes = adjust(model)
    except Exception as problem:
        damaged = "the folder is damaged" if folder else "the download is not complete"
        raise Error(
            "source",
            f"transformers does not load {path}: {first_line(problem)}",
            hint=f"{damaged}, or the model needs code of its own; --debug shows the traceback",
        ) from problem
    notes = [f"{type(model).__name__} from {path}", *notes]
    if loaded["missing_keys"]:
        missing = ", ".join(sorted(loaded["missing_keys"]))
        notes.append(f"random weights (seed {SEED}), not in the files: {missing}")
    if loaded["unexpected_keys"]:
        notes.append(f"not used from the files: {', '.join(sorted(loaded['unexpected_keys']))}")
    if tokenizer is None and "input_ids" in kwargs:
        notes.append("the example's token ids are random: there is no tokenizer")
    return Source(name, model, (), kwargs, notes=tuple(notes))


@contextlib.contextmanager
def _no_progress_bar() -> Iterator[None]:
    from transformers.utils import logging

    enabled = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if enabled:
            logging.enable_progress_bar()


def _model_class(config: PreTrainedConfig) -> Any:
    """The class that the configuration names first, else what AutoModel takes."""
    import transformers

    for architecture in config.architectures or ():
        named = getattr(transformers, architecture, None)
        if named is not None:
            return named
    return transformers.AutoModel


def _tokenizer(path: str, local: bool) -> Any:
    """The tokenizer beside the model; None where there is none."""
    from transformers import AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(path, local_files_only=local)
    except (OSError, ValueError, KeyError):
        # The ways in which transformers says that it finds none.
        return None
    # Another is to give one with an empty vocabulary, whose every token is unknown.
    if not any(is_there(path, name) for name in _VOCABULARIES):
        return None
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    return tokenizer


def _example(model: PreTrainedModel, tokenizer: Any) -> dict[str, Any]:
    """A call with sentences where there is a tokenizer for them, else with random inputs."""
    accepted = parameters(model)
    if tokenizer is None or model.main_input_name != "input_ids":
        return working_example(model)
    encoded = tokenizer(list(SENTENCES), padding=True, return_tensors="pt")
    kwargs = {name: value for name, value in encoded.items() if name in accepted}
    if "decoder_input_ids" in accepted:
        kwargs["decoder_input_ids"] = shifted(kwargs["input_ids"], decoder_start(model))
    return kwargs
