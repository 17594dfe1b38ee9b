"""Handles models, tokenizers and processors with their own Python code (`auto_map`)."""

from __future__ import annotations

from typing import Any

from unmess.core.errors.error import Error, needs_trust


def needs_custom_code(problem: BaseException) -> bool:
    """Returns True if transformers refused to import Python code that comes with a model."""
    return "trust_remote_code" in str(problem)


def custom_code_error(path: str, part: str) -> Error:
    """Returns the Error (`source`) for a part of the model in `path` that needs its own code."""
    return needs_trust(path, f"Python code of its own for the {part} (auto_map)")


def custom_model_class(config: Any) -> Any:
    """Returns the transformers class that imports the model's own code; None if it has none.

    A class for a task takes precedence over the bare model.
    """
    import transformers

    names = sorted(getattr(config, "auto_map", None) or {}, key=lambda name: name == "AutoModel")
    models = [name for name in names if name.startswith("AutoModel")]
    return next((found for name in models if (found := getattr(transformers, name, None))), None)
