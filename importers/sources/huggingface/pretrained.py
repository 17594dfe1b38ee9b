"""Loads models from folders, GGUF files and the hub, with their tokenizer or processor."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from importers.sources.huggingface.adjust import adjust, fix_layout
from importers.sources.huggingface.custom_code import (
    custom_code_error,
    custom_model_class,
    needs_custom_code,
)
from importers.sources.huggingface.gguf_files import PackedTensors, need_gguf, parse_once
from importers.sources.huggingface.hub import ask_hub, is_there
from importers.sources.huggingface.packed_folders import PackedFolder, packed_layout
from importers.sources.huggingface.processed import find_tokenizer, processed_example
from importers.sources.random_weights import SEED, seeded
from importers.sources.source import Source
from unmess.core.errors.error import Error, first_line

if TYPE_CHECKING:
    from transformers import PreTrainedConfig


def find_pretrained(path: str, name: str, gguf: str | None = None, trust: bool = False) -> Source:
    """Loads the model in a folder or on the hub.

    Args:
        path: a folder or hub name, as transformers accepts it. Weights in a layout of
            `importers/packed/` stay packed.
        gguf: a file in the folder with configuration, weights and tokenizer. Quantized matrices
            stay packed (`importers/packed/`).
        trust: whether to import Python code that comes with the model.

    Raises:
        Error: stage `source`, if there is no such model, one of its files is missing or damaged,
            the weights do not fit the configuration, or the model needs trust.
    """
    import torch
    import transformers

    parsing = keeping = contextlib.nullcontext()
    packed: PackedTensors | PackedFolder = PackedTensors()
    if gguf is not None:
        need_gguf()
        parsing, keeping = parse_once(), packed.kept()
    folder = os.path.isdir(path)
    local = gguf is not None or is_there(path, "config.json")
    form: dict[str, Any] = {} if gguf is None else {"gguf_file": gguf}
    if folder and not local:
        raise Error(
            "source",
            f"{path} has no config.json",
            hint="give a folder that save_pretrained wrote",
        )
    # Do not query the hub for a model in its cache.
    if not local:
        ask_hub(path)
    try:
        with parsing:
            config = transformers.AutoConfig.from_pretrained(
                path, local_files_only=local, trust_remote_code=trust, **form
            )
            for part in (config, config.get_text_config()):
                if hasattr(part, "use_cache"):
                    part.use_cache = False
            # A GGUF file names the architecture but no class. Its models generate text.
            model_class = transformers.AutoModelForCausalLM
            if gguf is None:
                model_class = _model_class(config, trust)
                if (folder_weights := packed_layout(path, config)) is not None:
                    packed, keeping = folder_weights, folder_weights.kept()
                    # Packed weights are exact in any dtype, and runners' products are in f32.
                    form["dtype"] = torch.float32
            with keeping, seeded(), _no_progress_bar():
                model, loaded = model_class.from_pretrained(
                    path,
                    config=config,
                    local_files_only=local,
                    trust_remote_code=trust,
                    output_loading_info=True,
                    ignore_mismatched_sizes=True,  # reported below, in one line
                    **form,
                )
                model.eval()
                _check_shapes(path, loaded["mismatched_keys"])
                unpacking = packed.put_into(model)
                tokenizer = find_tokenizer(path, local, gguf, trust)
                kwargs, random = processed_example(path, local, model, tokenizer, trust)
                notes = adjust(model)
    except Error:
        raise
    except Exception as problem:
        if needs_custom_code(problem):
            raise custom_code_error(path, "model") from problem
        what = "folder" if gguf is None else "file"
        hint = f"the {what} is damaged" if folder else "the download is not complete"
        if isinstance(problem, ImportError):
            hint = "install the package that it names: the locked environment does not have it"
        raise Error(
            "source",
            f"transformers cannot load {gguf or path}: {first_line(problem)}",
            hint=f"{hint}; --debug shows the traceback",
        ) from problem
    notes = [f"{type(model).__name__} from {path}", *unpacking, *notes, *random]
    if loaded["missing_keys"]:
        missing = ", ".join(sorted(loaded["missing_keys"]))
        notes.append(
            f"random weights (seed {SEED}), because the files do not contain them: {missing}"
        )
    if loaded["unexpected_keys"]:
        notes.append(
            "weights in the files that the model does not use: "
            f"{', '.join(sorted(loaded['unexpected_keys']))}"
        )
    model, kwargs, fixed = fix_layout(model, kwargs)
    return Source(name, model, (), kwargs, notes=(*notes, *fixed), tokenizer=tokenizer)


def _check_shapes(path: str, mismatched: Any) -> None:
    """Raises an Error if weights have other shapes than the configuration requires."""
    if not mismatched:
        return
    name, found, expected = min(mismatched)
    more = f", and {len(mismatched) - 1} more" if len(mismatched) > 1 else ""
    raise Error(
        "source",
        f"the weights in {path} do not fit its config.json: {name} is {list(found)} in the file, "
        f"{list(expected)} by the configuration{more}",
        hint="use a config.json and weights of the same model",
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


def _model_class(config: PreTrainedConfig, trust: bool) -> Any:
    """Returns the first architecture in the configuration, else its own class, else AutoModel."""
    import transformers

    for architecture in config.architectures or ():
        named = getattr(transformers, architecture, None)
        # The file may name anything in the library.
        if isinstance(named, type) and issubclass(named, transformers.PreTrainedModel):
            return named
    return (custom_model_class(config) if trust else None) or transformers.AutoModel
