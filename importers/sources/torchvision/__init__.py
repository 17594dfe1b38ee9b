"""The source `torchvision:NAME`: every model that torchvision registers, with an example input."""

from __future__ import annotations

import inspect
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from importers.sources.missing import unknown_torchvision_model
from importers.sources.random_weights import SEED, seeded, vary_constant_parameters
from importers.sources.source import Source
from importers.sources.torchvision import detection, quantized
from importers.sources.torchvision.weights import cached, file_of, folder, load_file
from unmess.core.errors.error import Error, first_line

if TYPE_CHECKING:
    from torchvision.models import Weights

# Frames of an example clip. The published weights of MViT and Swin3D were trained on 16, and it is
# enough for the temporal pooling of the other models.
_FRAMES = 16
# Segmentation networks take any size. This one keeps the example cheap.
_ANY_SIZE = 224
# The optical flow networks require multiples of 8 of at least 128.
_FLOW_SIZE = (128, 128)


def names() -> list[str]:
    """Returns the names of all models of torchvision."""
    from torchvision import models

    return models.list_models()


def task(name: str) -> str:
    """Returns the task of a model.

    `classification`, `quantization`, `detection`, `segmentation`, `video` or `optical_flow`: the
    subpackage of torchvision that contains the model. Those of `quantization` are classification
    networks in 8 bits.
    """
    from torchvision import models

    parts = models.get_model_builder(name).__module__.removeprefix("torchvision.models.").split(".")
    return parts[0] if len(parts) > 1 else "classification"


def find(text: str) -> Source:
    """Returns the model of `NAME` or `NAME@FILE` in evaluation mode, with an example.

    The weights come from the file (a state dict), else from published weights in torch.hub's cache
    folder (`TORCH_HOME/hub/checkpoints`), else they are random with a fixed seed. A note states
    which.

    Raises:
        Error: stage `source`, for an unknown name, or a file that does not fit or is damaged.
    """
    name, _, path = text.partition("@")
    if name not in names():
        raise unknown_torchvision_model(name, names())
    weights = None if path else cached(name)
    is_random = weights is None and not path
    with seeded(), warnings.catch_warnings():
        # GoogLeNet and Inception warn of a change of their default initialization.
        warnings.filterwarnings("ignore", category=FutureWarning, module="torchvision")
        model = _build(name, weights, own=not is_random)
        args = _example(name, weights)
        if is_random:
            changed = _vary_constant_parameters(name, model, args)
        if path:
            load_file(model, name, Path(path))
        calibrated = task(name) == "quantization" and weights is None
        if calibrated:
            model = quantized.quantize(name, model, args[0].shape[2:])
    if is_random:
        note = f"random weights (seed {SEED}; {changed}): no published weights in {folder()}"
    elif path:
        note = f"weights from {path}"
    else:
        note = f"weights {weights} from {file_of(weights)}"
    notes = (note, "quantized to 8 bits, calibrated with random images") if calibrated else (note,)
    return Source(name, model, args, notes=notes)


def _build(name: str, weights: Weights | None, *, own: bool) -> torch.nn.Module:
    """Builds a model. `own` is True if its final weights are not random."""
    from torchvision import models

    options: dict[str, Any] = {"weights": weights}
    parameters = inspect.signature(models.get_model_builder(name)).parameters
    if "weights_backbone" in parameters:
        options["weights_backbone"] = None  # the default downloads them
    if task(name) == "detection" and not own:
        options |= detection.options(name)
    # Published weights are for the quantized model. With other weights, `find` quantizes the model.
    if task(name) == "quantization" and weights is not None:
        options["quantize"] = True
    try:
        return models.get_model(name, **options).eval()
    except Exception as problem:
        raise Error(
            "source",
            f"torchvision cannot build {name}: {first_line(problem)}",
            hint=None if weights is None else f"delete {file_of(weights)}",
        ) from problem


def _vary_constant_parameters(name: str, model: torch.nn.Module, args: tuple[Any, ...]) -> str:
    if task(name) == "detection":
        batch = detection.images(name, 2)
        detection.damp_branches(model)
        changed = vary_constant_parameters(model, batch)
        with detection.spreading(model), torch.no_grad():
            model(batch)
        return f"{changed}, class scores spread over the image"
    return vary_constant_parameters(model, *(torch.randn(2, *arg.shape[1:]) for arg in args))


def _example(name: str, weights: Weights | None) -> tuple[Any, ...]:
    """Returns arguments for one example, with the value range of normalized images."""
    match task(name):
        case "detection":
            return (detection.images(name, 1),)
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
    """Returns height and width of an input: those of the weights, or the model's default.

    Some models have published weights for several sizes. The constructor's default size, which
    random weights use, is always the smallest of them.
    """
    from torchvision import models

    choices = models.get_model_weights(name) if weights is None else (weights,)
    sizes = []
    for choice in choices:
        size = choice.transforms.keywords["crop_size"]
        sizes.append((size, size) if isinstance(size, int) else tuple(size))
    return min(sizes)
