"""Puts transformers models in an exportable form."""

from __future__ import annotations

from typing import Any

from importers.sources.huggingface.parts import parts

# The note for a decoder that is called without its cache.
WITHOUT_CACHE = "use_cache is off: no key-value cache in the result"


class _NoCache:
    """An embedding cache that is always empty."""

    def has(self, _key: Any) -> bool:
        """Returns False."""
        return False

    def put(self, _key: Any, _value: Any) -> None:
        """Stores nothing."""


def adjust(model: Any) -> tuple[str, ...]:
    """Puts a model in its exportable form. Returns notes on the changes."""
    from transformers.exporters.exporter_dynamo import register_cache_pytrees_for_model

    notes = []
    # Some models return a cache in any case (Diffusion Gemma).
    register_cache_pytrees_for_model(model)
    config = model.config.get_text_config()
    # The configuration of an encoder has `use_cache` too, without effect.
    decodes = getattr(config, "is_decoder", True) or config.is_encoder_decoder
    if hasattr(config, "use_cache") and decodes:
        notes.append(WITHOUT_CACHE)
        # Some configurations enable it again in their parts (T5Gemma's decoder).
        for part in parts(model.config):
            if hasattr(part, "use_cache"):
                part.use_cache = False
    # A program has no embeddings of earlier calls. Those calls may have had other weights.
    caches = [name for name, value in vars(model).items() if _is_embedding_cache(value)]
    for name in caches:
        setattr(model, name, _NoCache())
    if caches:
        notes.append(f"embedding caches are off: {', '.join(caches)}")
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


def _is_embedding_cache(value: Any) -> bool:
    return type(value).__name__.endswith("LRUCache") and hasattr(value, "has")
