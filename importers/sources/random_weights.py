"""Reproducible random weights with which every layer affects the result.

Default initialization is made for training and hides errors from a comparison. Torchvision's vision
transformers start with a last layer of zeros, so their result is always zero. ConvNeXt scales every
block by 1e-6, below any tolerance. The result of ShuffleNet equals the bias of its last layer to
every digit. A wrong lowering of such a network would pass. `vary_constant_parameters` changes the
weights so that every layer affects the result.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch
from torch.nn.modules.batchnorm import _BatchNorm

SEED = 0
# Standard deviation of the noise that is added to initially constant parameters.
_SPREAD = 0.1


@contextlib.contextmanager
def seeded() -> Iterator[None]:
    """Seeds PyTorch's CPU generator with `SEED` inside the `with` block, and restores it after."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(SEED)
        yield


def vary_constant_parameters(model: torch.nn.Module, *args: Any, **kwargs: Any) -> str:
    """Changes freshly initialized weights so that every layer affects the result.

    Initially constant parameters (zeros, ones, 1e-6) get normal noise of standard deviation 0.1.
    Batch norms get the statistics of the values in one call: new ones leave values unchanged, which
    then vanish or grow without bound in a deep network.

    Args:
        args, kwargs: the arguments of that call, with a batch of at least 2, because a batch norm
            of a 1×1 map computes statistics over the batch alone. Without any, batch norms are
            unchanged.

    Returns:
        A description of the changes, for a note.
    """
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.is_floating_point() and parameter.numel() and _is_constant(parameter):
                parameter += _SPREAD * torch.randn_like(parameter)
    changed = f"constant parameters varied by {_SPREAD}"
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
        norm.momentum = None  # use the plain average, here of a single call
        norm.train()
    try:
        with torch.no_grad():
            model(*args, **kwargs)
    finally:
        for norm, momentum in zip(norms, momenta, strict=True):
            norm.momentum = momentum
            norm.eval()
