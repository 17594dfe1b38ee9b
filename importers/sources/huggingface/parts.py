"""Looks up attributes in a configuration and its parts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from transformers import PreTrainedConfig


def parts(config: PreTrainedConfig) -> Iterator[PreTrainedConfig]:
    """Yields a configuration and its nested configurations, the outer ones first."""
    yield config
    for name in config.sub_configs_defaults:
        part = getattr(config, name, None)
        if isinstance(part, PreTrainedConfig):
            yield from parts(part)


def first(config: PreTrainedConfig, *names: str, kind: str = "", default: Any = None) -> Any:
    """Returns the first attribute with one of these names that is not None.

    Searches the configuration and its parts.

    Args:
        kind: a word such as `vision`. Parts whose model type or class contains it come first.
    """
    candidates = list(parts(config))
    if kind:
        candidates.sort(key=lambda part: not _is_kind(part, kind))
    for part in candidates:
        for name in names:
            value = getattr(part, name, None)
            if value is not None:
                return value
    return default


def _is_kind(part: PreTrainedConfig, kind: str) -> bool:
    return kind in f"{part.model_type} {type(part).__name__}".lower()
