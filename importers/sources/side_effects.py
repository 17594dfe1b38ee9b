"""Reports process-wide settings that a user's file changes."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from typing import Any

import torch

# Settings that a model may need when it is called are kept. The others are restored.
_KEPT: dict[str, Callable[[], Any]] = {
    "default dtype": torch.get_default_dtype,
    "default device": torch.get_default_device,
    "deterministic algorithms": torch.are_deterministic_algorithms_enabled,
    "number of threads": torch.get_num_threads,
}
_PUT_BACK: dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]] = {
    "current folder": (os.getcwd, os.chdir),
    "gradient mode": (torch.is_grad_enabled, torch._C._set_grad_enabled),
}


@contextlib.contextmanager
def reported() -> Iterator[list[str]]:
    """Yields a list that receives notes on the settings changed inside the `with` block."""
    kept = {name: read() for name, read in _KEPT.items()}
    put_back = {name: read() for name, (read, _) in _PUT_BACK.items()}
    notes: list[str] = []
    try:
        yield notes
    finally:
        for name, before in kept.items():
            now = _KEPT[name]()
            if now != before:
                notes.append(f"the file sets the {name} to {now} for the whole process: kept")
        for name, before in put_back.items():
            read, write = _PUT_BACK[name]
            if (now := read()) != before:
                write(before)
                notes.append(f"the file sets the {name} to {now}: restored to {before}")
