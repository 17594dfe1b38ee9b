"""Puts transformers models in an exportable form."""

from __future__ import annotations

from typing import Any

from importers.sources.huggingface.parts import parts

# The note for a decoder that is called without its cache.
WITHOUT_CACHE = "use_cache is off: no key-value cache in the result"


def adjust(model: Any) -> tuple[str, ...]:
    """Puts a model in its exportable form. Returns notes on the changes."""
    notes = []
    config = model.config.get_text_config()
    # The configuration of an encoder has `use_cache` too, without effect.
    decodes = getattr(config, "is_decoder", True) or config.is_encoder_decoder
    if hasattr(config, "use_cache") and decodes:
        notes.append(WITHOUT_CACHE)
        # Some configurations enable it again in their parts (T5Gemma's decoder).
        for part in parts(model.config):
            if hasattr(part, "use_cache"):
                part.use_cache = False
    implementations = model.get_experts_implementation().values()
    if "grouped_mm" in implementations:
        # The default sorts tokens by expert, which is not worth its cost in a tiny example.
        own = "grouped_mm"
    elif "eager" in implementations and model._can_set_experts_implementation():
        # It loops over the experts that the data selects. Models without experts report it too.
        own = "eager"
    else:
        own = None
    if own is not None:
        model.set_experts_implementation("batched_mm")
        notes.append(f"experts are computed by batched_mm instead of {own}")
    return tuple(notes)
