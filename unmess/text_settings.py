"""Reads how a model generates text from its generation config."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from importers.sources.source import Source
from unmess.core.program.note import Note

if TYPE_CHECKING:
    from transformers import LogitsProcessorList

# The fields of a generation config that change the scores of tokens, with their neutral values.
# `repetition_penalty` is not among them: it does not need transformers.
_CONSTRAINTS: dict[str, Any] = {
    "sequence_bias": None,
    "encoder_repetition_penalty": 1.0,
    "no_repeat_ngram_size": 0,
    "encoder_no_repeat_ngram_size": 0,
    "bad_words_ids": None,
    "min_length": 0,
    "min_new_tokens": 0,
    "forced_bos_token_id": None,
    "forced_eos_token_id": None,
    "exponential_decay_length_penalty": None,
    "suppress_tokens": None,
    "begin_suppress_tokens": None,
    "remove_invalid_values": False,
}


def settings_of(source: Source) -> dict[str, Any]:
    """Returns the fields of `Generator` that come from the model's generation config, as JSON.

    Raises:
        Error: stage `source`, if the model does not generate text.
    """
    # Imported here, because it imports transformers.
    from importers.sources.huggingface.generation import check_generates

    check_generates(source.model)
    settings = source.model.generation_config
    end = settings.eos_token_id
    constraints = {name: getattr(settings, name, None) for name in _CONSTRAINTS}
    if isinstance(bias := constraints["sequence_bias"], dict):
        constraints["sequence_bias"] = [[list(tokens), value] for tokens, value in bias.items()]
    return {
        "end": [] if end is None else [end] if isinstance(end, int) else list(end),
        "penalty": settings.repetition_penalty or 1.0,
        "constraints": {
            name: value
            for name, value in constraints.items()
            if value is not None and value != _CONSTRAINTS[name]
        },
        "start": _start(source.model) if source.model.config.is_encoder_decoder else [],
    }


def notes_of(source: Source) -> tuple[Note, ...]:
    """Returns notes on the settings of a generation config that are not used."""
    beams = source.model.generation_config.num_beams or 1
    if beams == 1:
        return ()
    text = f"the model's generation config asks for {beams} beams; greedy decoding is used instead"
    return (Note("sampling", text),)


def _start(model: Any) -> list[int | list[int]]:
    """Returns the tokens that the decoder starts with; a list of tokens is a choice between them.

    Whisper's tokens are the same as in its own `generate` without timestamps: if the config names
    no language, the choice is between all languages.
    """
    settings = model.generation_config
    first = settings.decoder_start_token_id
    start: list[Any] = [settings.bos_token_id if first is None else first]
    if model.config.model_type != "whisper":
        return start
    languages = getattr(settings, "lang_to_id", None)
    tasks = getattr(settings, "task_to_id", None)
    language, task = (getattr(settings, name, None) for name in ("language", "task"))
    if language is None and task is None:
        forced = getattr(settings, "forced_decoder_ids", None) or ()
        start += [token for _, token in forced]
    if languages and (len(start) == 1 or start[1] is None):
        start[1:2] = [list(languages.values()) if language is None else _language(model, language)]
    if tasks and (task is not None or language is not None):
        start.append(tasks[task or "transcribe"])
    last = getattr(settings, "no_timestamps_token_id", None)
    return start if last is None or start[-1] == last else [*start, last]


def _language(model: Any, language: str) -> int:
    """Returns the token of one of Whisper's languages, given by its name, code or token."""
    from transformers.models.whisper.tokenization_whisper import TO_LANGUAGE_CODE

    language = language.lower()
    tokens = model.generation_config.lang_to_id
    return tokens.get(language) or tokens[f"<|{TO_LANGUAGE_CODE.get(language, language)}|>"]


def logits_processors(
    constraints: dict[str, Any],
    penalty: float,
    end: frozenset[int],
    prompt: Any,
    start_tokens: int,
    max_new_tokens: int,
) -> LogitsProcessorList:
    """Returns the processors that `generate` of transformers makes from a generation config.

    Args:
        constraints, penalty, end: as in `Generator`.
        prompt: the input of the model.
        start_tokens: the number of tokens before the first new one.
    """
    import torch
    from transformers import GenerationConfig, GenerationMixin, PreTrainedConfig

    settings = GenerationConfig(
        **constraints, repetition_penalty=penalty, max_length=start_tokens + max_new_tokens
    )
    settings._eos_token_tensor = torch.tensor(sorted(end)) if end else None
    maker = GenerationMixin()
    maker.config = PreTrainedConfig()
    return maker._get_logits_processor(settings, start_tokens, prompt, device="cpu")
