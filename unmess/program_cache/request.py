"""A command's request for a program: the model, and the options that affect the capture."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

from unmess.program_cache import environment

# Increase it when the layout of entries changes.
FORMAT = 1
_ARRAY = ".npy"


@dataclass(frozen=True)
class Decoder:
    """Options of `unmess.load_generator` for a decoder with its key-value cache as state.

    Attributes:
        unpacked: whether packed weights are unpacked once, for a runner that does not multiply with
            them.
        batch: the number of texts that are generated together.
    """

    max_length: int | None
    dtype: str | None = None
    unpacked: bool = False
    batch: int = 1


@dataclass(frozen=True)
class Request:
    """A model string, and the options of a capture as the command line takes them.

    Attributes:
        model: the model string.
        inputs, dynamic, strategy, backend_legal_ops, only, fold_constants, quantize, integer,
            calibrate: as for `unmess.captured`.
        trust: whether the model's files may run code. A program that was captured with trust is
            not found without it.
        decoder: set for a decoder that is captured as `prefill` and `decode`.
    """

    model: str
    inputs: tuple[str, ...] = ()
    dynamic: tuple[str, ...] = ()
    strategy: str = "auto"
    backend_legal_ops: tuple[str, ...] = ()
    decoder: Decoder | None = None
    trust: bool = False
    only: str | None = None
    fold_constants: bool = False
    quantize: str | None = None
    integer: bool = False
    calibrate: tuple[str, ...] = ()

    def key(self) -> str:
        """Returns the name of the cache entry for this request, a SHA-256.

        It covers the request and the environment. The entry lists the program's other
        dependencies, which are compared when the entry is found.
        """
        about = {
            "format": FORMAT,
            "environment": environment.digest(),
            "request": asdict(self),
            "model": self._place(),
        }
        return hashlib.sha256(json.dumps(about).encode()).hexdigest()

    def files(self) -> list[Path]:
        """Returns the files that the request names, and those in a Hugging Face folder."""
        found = [
            Path(text.rpartition("=")[2]).expanduser().absolute()
            for text in self.inputs
            if text.endswith(_ARRAY)
        ]
        found += [Path(text).expanduser().absolute() for text in self.calibrate]
        place = self._place()
        if place is not None and os.path.isdir(place):
            found += sorted(path for path in Path(place).iterdir() if path.is_file())
        elif place is not None:
            found.append(Path(place))
        return found

    def folders(self) -> list[Path]:
        """Returns the folders whose files affect the program; a new file may do so too."""
        place = self._place()
        return [Path(place)] if place is not None and os.path.isdir(place) else []

    def _place(self) -> str | None:
        """Returns the file or folder that the model string names; None if it names none."""
        text = self.model.partition("#")[0]
        prefix, colon, rest = text.partition(":")
        if colon and prefix == "torchvision":
            text = rest.partition("@")[2]
        elif colon and prefix == "hf":
            text = rest
        elif not os.path.exists(text):
            text = text.rpartition(":")[0]
        path = os.path.abspath(os.path.expanduser(text)) if text else ""
        return os.path.realpath(path) if path and os.path.exists(path) else None
