"""`torchvision:NAME`: every model that torchvision registers, with an example input."""

from __future__ import annotations

import hashlib
import inspect
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from importers.sources.random_weights import SEED, enliven, seeded
from importers.sources.source import Source
from importers.sources.suggest import did_you_mean
from unmess.core.error import Error, first_line

if TYPE_CHECKING:
    from torchvision.models import Weights

# Frames of an example clip: what the published weights of MViT and Swin3D were trained on, and
# enough for the temporal pooling of the others.
_FRAMES = 16
# Segmentation and detection networks take any size; this one keeps an example cheap.
_ANY_SIZE = 224
# The optical flow networks want multiples of 8 of at least 128.
_FLOW_SIZE = (128, 128)


def names() -> list[str]:
    """Every name that `find` takes."""
    from torchvision import models

    return models.list_models()


def task(name: str) -> str:
    """`classification`, `quantization`, `detection`, `segmentation`, `video` or `optical_flow`.

    The last part of the package that torchvision keeps the model in; those of `quantization` are
    classification networks that can be quantised, here in floating point.
    """
    from torchvision import models

    parts = models.get_model_builder(name).__module__.removeprefix("torchvision.models.").split(".")
    return parts[0] if len(parts) > 1 else "classification"


def find(name: str) -> Source:
    """The model called `name`, in evaluation mode, with one example.

    The weights are published ones where their file is in torch.hub's cache folder
    (`TORCH_HOME/hub/checkpoints`), else random ones from a fixed seed; a note says which.

    Raises:
        Error: stage `source`, for an unknown name or a damaged weight file.
    """
    from torchvision import models

    if name not in names():
        listed = "`unmess models` lists them"
        raise Error(
            "source", f"torchvision has no model {name!r}", hint=did_you_mean(name, names(), listed)
        )
    weights = _cached(name)
    options: dict[str, Any] = {"weights": weights}
    parameters = inspect.signature(models.get_model_builder(name)).parameters
    if "weights_backbone" in parameters:
        options["weights_backbone"] = None  # the default downloads them
    with seeded(), warnings.catch_warnings():
        # GoogLeNet and Inception announce a change of their default initialisation.
        warnings.filterwarnings("ignore", category=FutureWarning, module="torchvision")
        try:
            model = models.get_model(name, **options).eval()
        except Exception as problem:
            raise Error(
                "source",
                f"torchvision does not build {name}: {first_line(problem)}",
                hint=None if weights is None else f"delete {_file(weights)}",
            ) from problem
        args = _example(name, weights)
        if weights is None:
            # Detection networks take lists of images, and freeze their batch norms.
            batch = [torch.randn(2, *arg.shape[1:]) for arg in args if torch.is_tensor(arg)]
            changed = enliven(model, *batch)
    if weights is None:
        note = f"random weights (seed {SEED}; {changed}): no published ones in {_folder()}"
    else:
        note = f"weights {weights} from {_file(weights)}"
    return Source(name, model, args, notes=(note,))


def _folder() -> Path:
    return Path(torch.hub.get_dir()) / "checkpoints"


def _file(weights: Weights) -> Path:
    return _folder() / Path(weights.url).name


def _cached(name: str) -> Weights | None:
    """The default weights if they are in the cache folder, else the first others that are.

    Raises:
        Error: stage `source`, where the file is not the one that torchvision published. (When it
            loads a file from the cache, torchvision does not look.)
    """
    from torchvision import models

    choices = models.get_model_weights(name)
    if not len(choices):
        return None
    for weights in dict.fromkeys((choices.DEFAULT, *choices)):
        file = _file(weights)
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
                hint="delete it, and download it again or go on with random weights",
            )
        return weights
    return None


def _example(name: str, weights: Weights | None) -> tuple[Any, ...]:
    """Arguments for one example, with the spread of normalised images."""
    match task(name):
        case "detection":
            return ([torch.rand(3, _ANY_SIZE, _ANY_SIZE)],)
        case "segmentation":
            return (torch.randn(1, 3, _ANY_SIZE, _ANY_SIZE),)
        case "optical_flow":
            return tuple(torch.rand(1, 3, *_FLOW_SIZE) * 2 - 1 for _ in range(2))
        case "video":
            height, width = _crop_size(name, weights)
            return (torch.randn(1, 3, _FRAMES, height, width),)
        case _:
            return (torch.randn(1, 3, *_crop_size(name, weights)),)


def _crop_size(name: str, weights: Weights | None) -> tuple[int, int]:
    """Height and width of an input: that of the weights, or the model's default.

    Some models publish weights for several sizes. The constructor's default size, which is what
    random weights go with, is always the smallest of them.
    """
    from torchvision import models

    choices = models.get_model_weights(name) if weights is None else (weights,)
    sizes = []
    for choice in choices:
        size = choice.transforms.keywords["crop_size"]
        sizes.append((size, size) if isinstance(size, int) else tuple(size))
    return min(sizes)
