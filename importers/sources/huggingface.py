"""`hf:TYPE`, `hf:FOLDER`, `hf:ORG/NAME`: models of Hugging Face's transformers.

- A model type (`bert`, `llama`) is a tiny network of that architecture with random weights.
- A folder is a model as `save_pretrained` writes it: `config.json`, weights, and the tokenizer
  where there is one.
- A name with a slash that is no folder is looked up on the hub (and in its cache).

Decoders are called without a key-value cache. Every model gets its attention mask, or its images,
by keyword, and returns its own `ModelOutput`.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from huggingface_hub import model_info, try_to_load_from_cache
from huggingface_hub.errors import HFValidationError, RepositoryNotFoundError

from importers.sources.random_weights import SEED, enliven, seeded
from importers.sources.source import Source
from importers.sources.suggest import did_you_mean
from unmess.core.error import Error, first_line

if TYPE_CHECKING:
    from transformers import PreTrainedConfig, PreTrainedModel

SENTENCES = (
    "A man is playing a guitar on a street corner.",
    "Somebody makes music outdoors.",
    "The central bank raised interest rates on Monday.",
)
_VOCABULARIES = (
    "tokenizer.json",
    "tokenizer.model",
    "vocab.txt",
    "vocab.json",
    "spiece.model",
    "sentencepiece.bpe.model",
)
# What a network from a tiny configuration has at most; one above it would be no example.
_TINY = 30_000_000
_BATCH, _LENGTH, _PADDING = 2, 16, 4


def model_types() -> dict[str, str]:
    """The model types that `find` takes, with their task.

    Tasks: `image classification`, `encoder-decoder`, `encoder`, `decoder`.
    """
    return {model_type: task for model_type, (task, _) in _classes().items()}


@functools.cache
def _classes() -> dict[str, tuple[str, str]]:
    """Task and name of the model class by model type."""
    from transformers.models.auto import modeling_auto as auto

    encoders = {
        **auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES,
        **auto.MODEL_FOR_TEXT_ENCODING_MAPPING_NAMES,
    }
    # In the order in which a type that serves several tasks is taken.
    by_task = {
        "image classification": auto.MODEL_FOR_IMAGE_CLASSIFICATION_MAPPING_NAMES,
        "encoder-decoder": auto.MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES,
        # An encoder's own result is its hidden states, whatever heads there are for it.
        "encoder": {key: auto.MODEL_MAPPING_NAMES.get(key, encoders[key]) for key in encoders},
        "decoder": auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
    }
    # These take sound as well, which has no tiny example here.
    speech = auto.MODEL_FOR_SPEECH_SEQ_2_SEQ_MAPPING_NAMES
    classes: dict[str, tuple[str, str]] = {}
    for task, names in by_task.items():
        for model_type, name in names.items():
            if model_type not in speech:
                first = name if isinstance(name, str) else name[0]
                classes.setdefault(model_type, (task, first))
    return classes


def find(name: str) -> Source:
    """The model called `name`, in evaluation mode, with one example call.

    Raises:
        Error: stage `source`; the type is unknown or has no tiny form, the folder holds no model,
            or the hub does not give it.
    """
    classes = _classes()
    if name in classes:
        return _tiny(name)
    path = Path(name).expanduser()
    if path.is_dir():
        return _pretrained(str(path), path.resolve().name)
    if path.is_file():
        raise Error("source", f"{name} is a file", hint="give the folder that holds config.json")
    if name.count("/") == 1 and not name.startswith((".", "/", "~")):
        return _pretrained(name, name.rpartition("/")[2])
    if "/" in name:
        raise Error("source", f"no folder {name}", hint="give the folder that holds config.json")
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING_NAMES

    if name in CONFIG_MAPPING_NAMES:
        raise Error(
            "source",
            f"{name} is neither a text model nor an image classifier",
            hint="write a factory in a Python file: it returns (module, args, kwargs)",
        )
    listed = "`unmess models` lists them; a folder is hf:./FOLDER, a hub name hf:ORG/NAME"
    raise Error(
        "source",
        f"transformers has no model type {name!r}",
        hint=did_you_mean(name, classes, listed),
    )


def _tiny(model_type: str) -> Source:
    import transformers
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    from importers.sources.tiny_config import tiny_config

    _, class_name = _classes()[model_type]
    try:
        model_class = getattr(transformers, class_name)
        config = tiny_config(CONFIG_MAPPING[model_type])
        # On the meta device first, which costs nothing, whatever the size.
        with torch.device("meta"):
            size = sum(weight.numel() for weight in model_class(config).parameters())
        if size > _TINY:
            raise ValueError(f"the configuration has {size / 1e6:.0f} million parameters")
        with seeded():
            model = model_class(config).eval()
            kwargs = _example(model)
            changed = enliven(model, **_other_images(kwargs))
    except Exception as problem:
        raise Error(
            "source",
            f"there is no tiny form of {model_type}: {first_line(problem)}",
            hint="give a folder (hf:./FOLDER) or write a factory in a Python file",
        ) from problem
    note = f"{type(model).__name__}, tiny, random weights (seed {SEED}; {changed})"
    return Source(model_type, model, (), kwargs, notes=(note, *_adjust(model)))


def _pretrained(path: str, name: str) -> Source:
    """The model in a folder or on the hub. `path` is what transformers takes."""
    import transformers

    folder = os.path.isdir(path)
    local = _is_there(path, "config.json")
    if folder and not local:
        raise Error(
            "source",
            f"{path} has no config.json",
            hint="give a folder that save_pretrained wrote",
        )
    # What the cache of the hub holds is not asked for again.
    if not local:
        _ask_hub(path)
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
    except Exception as problem:
        damaged = "the folder is damaged" if folder else "the download is not complete"
        raise Error(
            "source",
            f"transformers does not load {path}: {first_line(problem)}",
            hint=f"{damaged}, or the model needs code of its own; --debug shows the traceback",
        ) from problem
    notes = [f"{type(model).__name__} from {path}"]
    if loaded["missing_keys"]:
        missing = ", ".join(sorted(loaded["missing_keys"]))
        notes.append(f"random weights (seed {SEED}), not in the files: {missing}")
    if loaded["unexpected_keys"]:
        notes.append(f"not used from the files: {', '.join(sorted(loaded['unexpected_keys']))}")
    if tokenizer is None and "input_ids" in kwargs:
        notes.append("the example's token ids are random: there is no tokenizer")
    return Source(name, model, (), kwargs, notes=(*notes, *_adjust(model)))


def _is_there(path: str, name: str) -> bool:
    """Whether the folder, or the cache of the hub, has a file of this name."""
    if os.path.isdir(path):
        return (Path(path) / name).is_file()
    try:
        return isinstance(try_to_load_from_cache(path, name), str)
    except HFValidationError:
        return False


def _ask_hub(name: str) -> None:
    """Raises an Error where the hub cannot be reached or has no such model.

    Loading would find out too, after half a minute of retries for each file.
    """
    try:
        model_info(name, timeout=10)
    except (RepositoryNotFoundError, HFValidationError) as problem:
        raise Error(
            "source",
            f"the hub has no public model {name}",
            hint="is the name right? A local folder is hf:./FOLDER",
        ) from problem
    except Exception as problem:
        raise Error(
            "source",
            f"the hub cannot be reached, and {name} is not in its cache: {first_line(problem)}",
            hint="a local folder needs no network: hf:./FOLDER",
        ) from problem


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
    if not any(_is_there(path, name) for name in _VOCABULARIES):
        return None
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    return tokenizer


def _example(model: PreTrainedModel, tokenizer: Any = None) -> dict[str, Any]:
    """Keyword arguments of one call: sentences, random token ids, or random images."""
    accepted = inspect.signature(model.forward).parameters
    if model.main_input_name == "pixel_values":
        return {"pixel_values": torch.randn(_BATCH, *_image_shape(model.config))}
    if tokenizer is not None:
        encoded = tokenizer(list(SENTENCES), padding=True, return_tensors="pt")
        kwargs = {name: value for name, value in encoded.items() if name in accepted}
    else:
        vocabulary = model.get_input_embeddings().num_embeddings
        # Ids at either end of a vocabulary are often special.
        ids = torch.randint(vocabulary // 8, vocabulary * 7 // 8, (_BATCH, _LENGTH))
        mask = torch.ones_like(ids)
        mask[1:, -_PADDING:] = 0  # the second text is shorter
        kwargs = {"input_ids": ids, "attention_mask": mask}
    if "decoder_input_ids" in accepted:
        # The decoder sees the text shifted by one, as in training.
        start = torch.full_like(kwargs["input_ids"][:, :1], _decoder_start(model))
        kwargs["decoder_input_ids"] = torch.cat([start, kwargs["input_ids"][:, :-1]], dim=1)
    return kwargs


def _other_images(kwargs: dict[str, Any]) -> dict[str, Any]:
    """Arguments like these with other images: statistics of the example itself would hide it."""
    if "pixel_values" not in kwargs:
        return kwargs
    _, *shape = kwargs["pixel_values"].shape
    return {"pixel_values": torch.randn(4, *shape)}


def _decoder_start(model: PreTrainedModel) -> int:
    settings = (getattr(model, "generation_config", None), model.config.get_text_config())
    for name in ("decoder_start_token_id", "pad_token_id", "bos_token_id"):
        for holder in settings:
            token = getattr(holder, name, None)
            if token is not None:
                return token
    return 0


def _image_shape(config: PreTrainedConfig) -> tuple[int, int, int]:
    from importers.sources.tiny_config import IMAGE

    size = getattr(config, "image_size", IMAGE)
    height, width = (size, size) if isinstance(size, int) else size
    return getattr(config, "num_channels", 3), height, width


def _adjust(model: PreTrainedModel) -> tuple[str, ...]:
    """Puts a model in its exportable form; notes on how it differs from what transformers gives."""
    notes = []
    config = model.config.get_text_config()
    # The configuration of an encoder has `use_cache` too, without effect.
    decodes = getattr(config, "is_decoder", True) or config.is_encoder_decoder
    if hasattr(config, "use_cache") and decodes:
        notes.append("use_cache is off: no key-value cache in the result")
    if "grouped_mm" in model.get_experts_implementation().values():
        # The default sorts tokens by expert, with a histogram that has no form in the torch dialect.
        model.set_experts_implementation("batched_mm")
        notes.append("experts are computed by batched_mm instead of grouped_mm")
    return tuple(notes)
