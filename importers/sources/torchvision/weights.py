"""Loads weights of torchvision models from files: published ones in the cache, or the user's."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from unmess.core.errors.error import Error, first_line

if TYPE_CHECKING:
    from torchvision.models import Weights

# Training scripts save the state dict under one of these keys in a checkpoint.
_NESTED = ("model", "state_dict")


def folder() -> Path:
    """Returns the folder of torchvision's downloads."""
    return Path(torch.hub.get_dir()) / "checkpoints"


def file_of(weights: Weights) -> Path:
    """Returns the path of the file of published weights, which may not exist."""
    return folder() / Path(weights.url).name


def cached(name: str) -> Weights | None:
    """Returns the default weights of a model if they are in the cache, else the first others there.

    None if none are in the cache.

    Raises:
        Error: stage `source`, if the file is not the one that torchvision published. (Torchvision
            does not check files that it loads from the cache.)
    """
    from torchvision import models

    choices = models.get_model_weights(name)
    if not len(choices):
        return None
    for weights in dict.fromkeys((choices.DEFAULT, *choices)):
        file = file_of(weights)
        if not file.is_file():
            continue
        # The published names end in the first digits of the file's SHA-256.
        expected = file.stem.rpartition("-")[2]
        with file.open("rb") as data:
            actual = hashlib.file_digest(data, "sha256").hexdigest()
        if not actual.startswith(expected):
            raise Error(
                "source",
                f"{file} is damaged: its SHA-256 starts with {actual[:8]}, not {expected}",
                hint="delete it; then download it again or use random weights",
            )
        return weights
    return None


def load_file(model: torch.nn.Module, name: str, path: Path) -> None:
    """Loads a state dict, or a training script's checkpoint that contains one, into `model`.

    Raises:
        Error: stage `source`, if there is no such file, it contains something else, or its weights
            do not fit the model.
    """
    state = _read(path)
    expected = model.state_dict()
    counters = {key for key in expected if key.endswith("num_batches_tracked")}
    missing = [key for key in expected if key not in state and key not in counters]
    surplus = [key for key in state if key not in expected]
    differing = [
        f"{key} is {_shape(state[key])} in the file and {_shape(value)} in the model"
        for key, value in expected.items()
        if key in state and state[key].shape != value.shape
    ]
    for what, names in (("differ", differing), ("are missing", missing), ("are unknown", surplus)):
        if names:
            raise Error(
                "source",
                f"{path} does not fit {name}: {len(names)} weights {what}, first {names[0]}",
                hint="for another number of classes or other layers, build the model in a Python "
                "file (file.py:name)",
            )
    model.load_state_dict(state, strict=False)


def _read(path: Path) -> dict[str, torch.Tensor]:
    if not path.is_file():
        raise Error("source", f"there is no file {path}", hint="torchvision:NAME@FILE")
    try:
        content: Any = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as problem:
        raise Error(
            "source",
            f"{path} does not contain weights: {first_line(problem)}",
            hint="save model.state_dict() with torch.save",
        ) from problem
    for key in _NESTED:
        if isinstance(content, dict) and isinstance(content.get(key), dict):
            content = content[key]
    if not isinstance(content, dict) or not all(
        isinstance(value, torch.Tensor) for value in content.values()
    ):
        raise Error(
            "source",
            f"{path} holds a {type(content).__name__}, not a state dict",
            hint="save model.state_dict() with torch.save",
        )
    return content


def _shape(tensor: torch.Tensor) -> str:
    return "x".join(map(str, tensor.shape)) or "a scalar"
