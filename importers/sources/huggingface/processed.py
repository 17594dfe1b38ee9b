"""Creates example inputs with the tokenizer and processor that come with a model."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from importers.sources.huggingface.custom_code import custom_code_error, needs_custom_code
from importers.sources.huggingface.example import parameters, working_example
from importers.sources.huggingface.hub import is_there
from importers.sources.huggingface.text import SENTENCES, decoder_start, shifted

_VOCABULARIES = (
    "tokenizer.json",
    "tokenizer.model",
    "vocab.txt",
    "vocab.json",
    "spiece.model",
    "sentencepiece.bpe.model",
)
_PROCESSORS = ("processor_config.json", "preprocessor_config.json")
# Height and width of a picture, before the processor resizes it for the model.
_PICTURE = (48, 64)


def processed_example(
    path: str, local: bool, model: Any, tokenizer: Any, trust: bool = False
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Returns keyword arguments of a call, and notes on random ones.

    The tokenizer encodes sentences, and the processor random pictures or noise. Without them, the
    inputs are random, with shapes from the configuration.
    """
    if model.main_input_name == "input_ids" and "pixel_values" not in parameters(model):
        if tokenizer is None:
            note = "the example's token ids are random: there is no tokenizer"
            return working_example(model), (note,)
        encoded = tokenizer(list(SENTENCES), padding=True, return_tensors="pt")
        return _completed(model, encoded), ()
    processor = _processor(path, local, trust)
    if processor is None:
        kind = "image" if "pixel_values" in parameters(model) else "sound"
        return working_example(model), (f"the example's {kind} is random: there is no processor",)
    return _completed(model, _through(processor, tokenizer)), ()


def _completed(model: Any, encoded: Any) -> dict[str, Any]:
    """Returns the encoded inputs that the model accepts, with ids for its decoder if it has one."""
    accepted = parameters(model)
    kwargs = {name: value for name, value in encoded.items() if name in accepted}
    if "decoder_input_ids" in accepted:
        start = decoder_start(model)
        if "input_ids" in kwargs:
            kwargs["decoder_input_ids"] = shifted(kwargs["input_ids"], start)
        else:
            batch = len(next(iter(kwargs.values())))
            kwargs["decoder_input_ids"] = torch.full((batch, 1), start)
    return kwargs


def _through(processor: Any, tokenizer: Any) -> Any:
    """Processes a picture or a second of noise, with a sentence if the processor takes text."""
    options: dict[str, Any] = {"return_tensors": "pt"}
    if tokenizer is not None and hasattr(processor, "tokenizer"):
        # The processor repeats this token for each feature of the picture or sound.
        tokens = (getattr(processor, name, None) for name in ("image_token", "audio_token"))
        token = next((token for token in tokens if isinstance(token, str)), "")
        options |= {"text": [f"{token} {SENTENCES[0]}".strip()], "padding": True}
    hearing = getattr(processor, "feature_extractor", processor)
    if rate := getattr(hearing, "sampling_rate", None):
        sound = np.random.default_rng(0).standard_normal(rate).astype(np.float32)
        return processor(sound, sampling_rate=rate, **options)
    from PIL import Image

    pixels = np.random.default_rng(0).integers(0, 256, (*_PICTURE, 3), dtype=np.uint8)
    return processor(images=[Image.fromarray(pixels)], **options)


def _processor(path: str, local: bool, trust: bool) -> Any:
    """Loads the processor that comes with the model; None if there is none.

    Raises:
        Error: stage `source`, if it needs trust.
    """
    from transformers import AutoFeatureExtractor, AutoImageProcessor, AutoProcessor

    if not any(is_there(path, name) for name in _PROCESSORS):
        return None
    # A processor without its tokenizer still is an image processor or a feature extractor.
    for kind in (AutoProcessor, AutoImageProcessor, AutoFeatureExtractor):
        try:
            return kind.from_pretrained(path, local_files_only=local, trust_remote_code=trust)
        except (OSError, ValueError, KeyError, TypeError) as problem:
            if needs_custom_code(problem):
                raise custom_code_error(path, "processor") from problem
            continue
    return None


def find_tokenizer(path: str, local: bool, gguf: str | None = None, trust: bool = False) -> Any:
    """Loads the tokenizer that comes with the model or is in its GGUF file; None without one.

    Raises:
        Error: stage `source`, if it needs trust.
    """
    from transformers import AutoTokenizer

    # Without tokenizer files, transformers may return a tokenizer with an empty vocabulary.
    if gguf is None and not any(is_there(path, name) for name in _VOCABULARIES):
        return None
    form = {} if gguf is None else {"gguf_file": gguf}
    try:
        tokenizer = AutoTokenizer.from_pretrained(
            path, local_files_only=local, trust_remote_code=trust, **form
        )
    except (OSError, ValueError, KeyError) as problem:
        if needs_custom_code(problem):
            raise custom_code_error(path, "tokenizer") from problem
        return None
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    return tokenizer
