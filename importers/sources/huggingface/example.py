"""Creates example calls of transformers models from the signature of their `forward`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import torch

from importers.sources.huggingface import audio, text, time_series, vision
from importers.sources.huggingface.parts import first

# Maps an input to the function that creates its example. Inputs not listed here are optional.
_SENSES = {
    "pixel_values": vision.pixels,
    "grid_thw": vision.pixels,
    "pixel_values_videos": vision.clips,
    "input_features": audio.spectrograms,
    "input_values": audio.waveforms,
    "past_values": time_series.series,
    "returns_to_go": time_series.trajectories,
}
_RENAMED = {
    "audio_mel": ("input_features", audio.spectrograms),
    "image_pixel_values": ("pixel_values", vision.pixels),
    "image": ("pixel_values", vision.pixels),
    "inputs": ("pixel_values", vision.pixels),
}
# Methods that return the features of an input, their placeholder tokens in a text, and their
# token type.
_FEATURES = (
    ("get_image_features", ("image_token_id", "image_token_index", "img_context_token_id"), 1),
    ("get_video_features", ("video_token_id", "video_token_index"), 2),
    ("get_audio_features", ("audio_token_id", "audio_token_index"), 3),
)


def parameters(model: Any) -> dict[str, inspect.Parameter]:
    """Returns the named parameters of the `forward` of a model or of its class."""
    kinds = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    signature = inspect.signature(model.forward)
    return {name: one for name, one in signature.parameters.items() if one.kind not in kinds}


def examples(model: Any) -> Iterator[Callable[[], dict[str, Any]]]:
    """Yields functions that create the keyword arguments of a call, the likely ones first.

    Only a call shows which of them the model accepts.
    """
    names = parameters(model)
    senses = list(_senses(model, names))
    if not senses:
        yield partial(_text, model, names)
        for count in _codebooks(model.config):
            yield partial(_text, model, names, (text.BATCH, text.LENGTH, count))
            yield partial(_text, model, names, (text.BATCH * count, text.LENGTH))
        return
    tokens = "input_ids" in names
    # With placeholders in its text, a single example is more likely to be accepted.
    for batch in (1, text.BATCH) if tokens else (text.BATCH, 1):
        for call in _combined(model, names, senses, batch):
            if tokens:
                yield partial(_with_text, model, names, call, batch)
            else:
                yield partial(_with_decoder, model, names, call, batch)


def working_example(model: Any, given: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Returns the first example that the model accepts.

    Args:
        given: the main arguments of the call, if they are known.
    """
    problems: list[Exception] = []
    for example in [partial(_completed, model, given)] if given else examples(model):
        try:
            kwargs = example()
            with torch.no_grad():
                model(**kwargs)
        except Exception as problem:
            problems.append(problem)
        else:
            return kwargs
    raise problems[0]


def _completed(model: Any, call: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a call with the arguments that follow from the given ones.

    These are a text with a placeholder token for each feature, positions, and the ids of a decoder.
    An argument that is None is omitted.
    """
    names = parameters(model)
    if "input_ids" in names and "input_ids" not in call:
        return _with_text(model, names, dict(call), batch=1)
    call = {name: value for name, value in call.items() if value is not None}
    call |= _positions(model, names, call)
    batch = next((len(value) for value in call.values() if torch.is_tensor(value)), 1)
    return _with_decoder(model, names, call, batch)


def _senses(model: Any, names: Any) -> Iterator[tuple[str, Any]]:
    """Yields the inputs other than text, with the functions that create them."""
    present = [name for name in _SENSES if name in names]
    # Clips and grids are other forms of the images in `pixel_values`.
    if "pixel_values" in present and "pixel_values_videos" in present:
        present.remove("pixel_values_videos")
    if "pixel_values" in present and "grid_thw" in present:
        present.remove("grid_thw")
    for name in present:
        yield name, _SENSES[name]
    for name, (_, maker) in _RENAMED.items():
        if name in names and not present:
            yield name, maker


def _combined(model: Any, names: Any, senses: Any, batch: int) -> Iterator[dict[str, Any]]:
    """Yields each candidate for the first input, with the first candidates for the others.

    If there are other inputs, yields each candidate alone too.
    """
    (name, maker), *others = senses
    rest: dict[str, Any] = {}
    for other, other_maker in others:
        rest |= _renamed(other, next(other_maker(model.config, names, batch)))
    for call in maker(model.config, names, batch):
        yield _renamed(name, call) | rest
        if rest:
            yield _renamed(name, call)


def _renamed(name: str, call: dict[str, Any]) -> dict[str, Any]:
    if name not in _RENAMED:
        return call
    usual = _RENAMED[name][0]
    return {name if key == usual else key: value for key, value in call.items()}


def _codebooks(config: Any) -> Iterator[int]:
    """Yields candidates for the number of tokens per step of audio codecs with several codes."""
    for name in ("num_codebooks", "num_channels"):
        count = first(config, name)
        if isinstance(count, int) and count > 1:
            yield count
            yield count + 1  # one more for text


def _text(model: Any, names: Any, shape: tuple[int, ...] | None = None) -> dict[str, Any]:
    """Creates a call with text.

    Args:
        shape: the shape of the ids, or of the decoder's ids if there is a decoder.
    """
    call: dict[str, Any] = {}
    ids = text.token_ids(text.vocabulary_of(model))
    mask = text.padding_mask(ids)
    if shape is not None:
        vocabulary = first(model.config, "codebook_size", default=text.SMALL_VOCABULARY)
        codes = text.token_ids(min(vocabulary, text.SMALL_VOCABULARY), *shape)
        if "decoder_input_ids" in names:
            return {"input_ids": ids, "attention_mask": mask, "decoder_input_ids": codes}
        ids = codes
        mask = torch.ones(text.BATCH, text.LENGTH, dtype=torch.int64)
    for name, value in (("input_ids", ids), ("attention_mask", mask)):
        if name in names:
            call[name] = value
    if "bbox" in names:
        call["bbox"] = text.boxes(ids)
    if "lang_ids" in names and hasattr(model.config, "languages"):
        call["lang_ids"] = torch.zeros(len(ids), dtype=torch.int64)
    if "visual_feats" in names and "visual_pos" in names:
        call |= vision.regions(model.config, len(ids))
    return _with_decoder(model, names, call, len(ids))


def _with_decoder(model: Any, names: Any, call: dict[str, Any], batch: int) -> dict[str, Any]:
    call = call | _required(model, names, call)
    if "decoder_input_ids" in names and "decoder_input_ids" not in call:
        ids = call.get("input_ids")
        if ids is None:
            ids = text.token_ids(text.vocabulary_of(model), batch)
        call = call | {"decoder_input_ids": text.shifted(ids, text.decoder_start(model))}
    return call


def _with_text(model: Any, names: Any, call: dict[str, Any], batch: int) -> dict[str, Any]:
    """Adds a text with a placeholder for each feature of the images or the sound to a call."""
    ids = text.token_ids(text.vocabulary_of(model), batch)
    kinds = torch.zeros_like(ids)
    for method, tokens, kind in _FEATURES:
        token = first(model.config, *tokens)
        count = _count(model, method, call) if token is not None else 0
        if count:
            places = torch.full((batch, count // batch), token)
            ids = torch.cat([ids[:, :4], places, ids[:, 4:]], dim=1)
            kinds = torch.cat([kinds[:, :4], torch.full_like(places, kind), kinds[:, 4:]], dim=1)
    if "image_embeds_position_mask" in names:
        count = first(model.config, "latent_query_num", default=64)
        places = torch.zeros(batch, count, dtype=torch.int64)
        ids = torch.cat([ids[:, :4], places, ids[:, 4:]], dim=1)
        kinds = torch.cat([kinds[:, :4], torch.ones_like(places), kinds[:, 4:]], dim=1)
        call = call | {"image_embeds_position_mask": kinds}
    mask = torch.ones_like(ids) if bool(kinds.any()) else text.padding_mask(ids)
    whole = {"input_ids": ids, **call}
    if "attention_mask" in names:
        whole["attention_mask"] = mask
    if "mm_token_type_ids" in names:
        whole["mm_token_type_ids"] = kinds
    if "token_type_ids" in names and bool(kinds.any()):
        whole["token_type_ids"] = kinds
    if "bbox" in names:
        whole["bbox"] = text.boxes(ids)
    whole |= _required(model, names, whole)
    whole |= _positions(model, names, whole)
    return _with_decoder(model, names, whole, batch)


def _positions(model: Any, names: Any, call: dict[str, Any]) -> dict[str, Any]:
    """Returns the positions of tokens. They depend on their values, so they are an input."""
    if "position_ids" not in names or not hasattr(model, "get_rope_index"):
        return {}
    accepted = inspect.signature(model.get_rope_index).parameters
    given = {name: value for name, value in call.items() if name in accepted}
    return {"position_ids": model.get_rope_index(**given)[0]}


def _required(model: Any, names: Any, given: dict[str, Any]) -> dict[str, Any]:
    """Returns values for required parameters, chosen by the endings of their names."""
    batch = next((len(value) for value in given.values() if torch.is_tensor(value)), 1)
    values: dict[str, Any] = {}
    for name, one in names.items():
        kinds = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
        if name in given or name == "self" or one.default is not one.empty or one.kind in kinds:
            continue
        if name.endswith("input_ids") or name == "task_inputs":
            values[name] = text.token_ids(text.SMALL_VOCABULARY, batch)
        elif name.endswith(("_embeds", "_hidden_states")):
            width = first(model.config, "hidden_size", default=64)
            values[name] = torch.randn(batch, text.LENGTH, width)
            # Query models attend to the states of an encoder.
            seen = getattr(model.config, "encoder_hidden_size", None)
            if "encoder_hidden_states" in names and isinstance(seen, int):
                values["encoder_hidden_states"] = torch.randn(batch, text.LENGTH, seen)
        elif name.endswith("pixel_values"):
            values[name] = torch.randn_like(given["pixel_values"])
        elif name.endswith("pixel_attention_mask"):
            images = given["pixel_values"]
            values[name] = torch.ones(*images.shape[:-3], *images.shape[-2:], dtype=torch.bool)
        elif name.endswith("mask"):
            like = given.get("input_values", given.get("input_features"))
            length = text.LENGTH if like is None else like.shape[-1]
            values[name] = torch.ones(batch, length, dtype=torch.int64)
    return values


def _count(model: Any, method: str, call: dict[str, Any]) -> int:
    """Returns the number of features that a model computes of images or sound; 0 if unknown."""
    # Use the outermost part that has the method: it may be a decoder's encoder.
    owners = (part for part in model.modules() if hasattr(part, method))
    features = getattr(next(owners, None), method, None)
    if features is None:
        return 0
    accepted = inspect.signature(features).parameters
    given = {name: value for name, value in call.items() if name in accepted}
    if not given:
        return 0
    given |= _required(model, accepted, given)
    with torch.no_grad():
        result = features(**given)
    for name in ("pooler_output", "last_hidden_state"):
        if getattr(result, name, None) is not None:
            result = getattr(result, name)
            break
    leaves = torch.utils._pytree.tree_leaves(result)
    return sum(leaf.numel() // leaf.shape[-1] for leaf in leaves if torch.is_tensor(leaf))
