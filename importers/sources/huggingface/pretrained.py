"""`hf:FOLDER` and `hf:ORG/NAME`: a model with its own weights, and its tokenizer or processor."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from importers.sources.huggingface.adjust import adjust
from importers.sources.huggingface.fixed import fix_layout
from importers.sources.huggingface.hub import ask_hub, is_there
from importers.sources.huggingface.processed import processed_example
from importers.sources.random_weights import SEED, seeded
from importers.sources.source import Source
from unmess.core.error import Error, first_line

if TYPE_CHECKING:
    from transformers import PreTrainedConfig


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
                path,
                config=config,
                local_files_only=local,
                output_loading_info=True,
                ignore_mismatched_sizes=True,  # reported below, all of them in one line
            )
            model.eval()
            _check_shapes(path, loaded["mismatched_keys"])
            kwargs, random = processed_example(path, local, model)
            notes = adjust(model)
    except Error:
        raise
    except Exception as problem:
        damaged = "the folder is damaged" if folder else "the download is not complete"
        raise Error(
            "source",
            f"transformers does not load {path}: {first_line(problem)}",
            hint=f"{damaged}, or the model needs code of its own; --debug shows the traceback",
        ) from problem
    notes = [f"{type(model).__name__} from {path}", *notes, *random]
    if loaded["missing_keys"]:
        missing = ", ".join(sorted(loaded["missing_keys"]))
        notes.append(f"random weights (seed {SEED}), not in the files: {missing}")
    if loaded["unexpected_keys"]:
        notes.append(f"not used from the files: {', '.join(sorted(loaded['unexpected_keys']))}")
    model, kwargs, fixed = fix_layout(model, kwargs)
    return Source(name, model, (), kwargs, notes=(*notes, *fixed))


def _check_shapes(path: str, mismatched: Any) -> None:
    """Raises an Error where weights have other shapes than the configuration says."""
    if not mismatched:
        return
    name, found, expected = min(mismatched)
    more = f", and {len(mismatched) - 1} more" if len(mismatched) > 1 else ""
    raise Error(
        "source",
        f"the weights in {path} do not fit its config.json: {name} is {list(found)} in the file, "
        f"{list(expected)} by the configuration{more}",
        hint="config.json and the weights must be of one model",
    )


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
