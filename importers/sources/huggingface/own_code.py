"""Models, tokenizers and processors that come with Python code of their own (`auto_map`)."""

from __future__ import annotations

from typing import Any

from unmess.core.error import Error
from unmess.core.trust import needs_trust


def wants_own_code(problem: BaseException) -> bool:
    """Whether transformers refused to import Python code that lies beside a model."""
    return "trust_remote_code" in str(problem)


def refusal(path: str, part: str) -> Error:
    """The Error (`source`) for a part of the model in `path` that needs its own code."""
    return needs_trust(path, f"Python code of its own for the {part} (auto_map)")


def own_model_class(config: Any) -> Any:
    """The class of transformers that imports the model's own code; None where it has none.

    The entry for a task comes before the bare model.
    """
    import transformers

    names = sorted(getattr(config, "auto_map", None) or {}, key=lambda name: name == "AutoModel")
    models = [name for name in names if name.startswith("AutoModel")]
    return next((found for name in models if (found := getattr(transformers, name, None))), None)
