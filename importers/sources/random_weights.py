"""Random weights that repeat in every process, and that a comparison can learn something from.

Initialisation serves training, not comparison: torchvision's vision transformers start with a last
layer of zeros, so their result is zero whatever they compute; ConvNeXt scales every block by 1e-6,
below any tolerance; the result of ShuffleNet is the bias of its last layer to every digit. A wrong
lowering of such a network would pass. `enliven` makes every layer have a say in the result.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch
from torch.nn.modules.batchnorm import _BatchNorm

SEED = 0
# Standard deviation of what is added to parameters that start out constant.
_SPREAD = 0.1


@contextlib.contextmanager
def seeded() -> Iterator[None]:
    """PyTorch's CPU generator starts at `SEED` inside, and goes on as before outside."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(SEED)
        yield


def enliven(model: torch.nn.Module, *args: Any, **kwargs: Any) -> str:
    """Changes freshly initialised weights so that every layer has a say in the result.

    Parameters that start out constant (zeros, ones, 1e-6) get normal noise of standard deviation
    0.1. Batch norms get the statistics of the values in one call, since a fresh one passes values
    through unchanged, and they then fade to nothing or grow without bound in a deep network.

    Args:
        args, kwargs: of that call; of a batch of at least 2, since a batch norm of a 1×1 map takes
            the statistics over the batch alone. Without any, batch norms stay as they are.

    Returns:
        What was changed, for a note.
    """
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.is_floating_point() and parameter.numel() and _is_constant(parameter):
                parameter += _SPREAD * torch.randn_like(parameter)
    changed = f"constant parameters spread by {_SPREAD}"
    norms = [layer for layer in model.modules() if isinstance(layer, _BatchNorm)]
    if norms and (args or kwargs):
        _calibrate(model, norms, args, kwargs)
        changed += ", batch-norm statistics from one random batch"
    return changed


def _is_constant(parameter: torch.Tensor) -> bool:
    return bool((parameter == parameter.flatten()[0]).all())


def _calibrate(model: torch.nn.Module, norms: list[_BatchNorm], args: tuple, kwargs: dict) -> None:
    momenta = [norm.momentum for norm in norms]
    for norm in norms:
        norm.reset_running_stats()
        norm.momentum = None  # the plain average over the calls, of which there is one
        norm.train()
    try:
        with torch.no_grad():
            model(*args, **kwargs)
    finally:
        for norm, momentum in zip(norms, momenta, strict=True):
            norm.momentum = momentum
            norm.eval()
