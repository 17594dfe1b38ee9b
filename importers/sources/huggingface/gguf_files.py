"""Checks and speeds up the reading of GGUF files by transformers."""

from __future__ import annotations

import contextlib
import functools
import importlib.util
from collections.abc import Iterator
from unittest import mock

from unmess.core.errors.error import Error


def need_gguf() -> None:
    """Raises an Error (`source`) if a package that transformers needs for GGUF is missing."""
    missing = [name for name in ("accelerate", "gguf") if importlib.util.find_spec(name) is None]
    if missing:
        raise Error(
            "source",
            f"GGUF files need {' and '.join(missing)}",
            hint="pip install 'unmess[gguf]' (the locked environment has it)",
        )


@contextlib.contextmanager
def parse_once() -> Iterator[None]:
    """Makes transformers parse a GGUF file once inside the `with` block.

    transformers parses the whole file, vocabulary included, for the configuration, the weights and
    the tokenizer. It makes a table of all tensor names for each submodule of the model. For
    SmolLM2-135M, this takes longer than reading the weights.
    """
    import gguf

    with (
        mock.patch.object(gguf, "GGUFReader", functools.cache(gguf.GGUFReader)),
        mock.patch.object(gguf, "get_tensor_name_map", functools.cache(gguf.get_tensor_name_map)),
    ):
        yield
