"""Compares the steps of a model with a cache with a call of the model without one, in eager."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from transformers import PreTrainedModel

from importers.capture.tensor_attributes import named_attributes
from unmess.core.errors.error import Error, first_line

# The largest norm of the difference, relative to the norm of the logits: in f32 or f64, and in
# reduced precision, where rounding may select other experts, for example.
_SINGLE, _REDUCED = 1e-3, 0.25


@contextlib.contextmanager
def running(model: PreTrainedModel, cache: str) -> Iterator[None]:
    """Turns an exception of the model into an Error (`source`).

    Args:
        cache: a name of the form of cache, for the message.
    """
    try:
        yield
    except Error:
        raise
    except Exception as problem:
        name = type(model).__name__
        raise Error(
            "source",
            f"{name} does not run with {cache}: {first_line(problem)}",
            hint="use another model, such as hf:llama, hf:gpt2, hf:t5 or hf:bart",
        ) from problem


def check_steps(
    model: PreTrainedModel, steps: Sequence[torch.Tensor], inputs: dict[str, Any], cache: str
) -> None:
    """Compares the logits of the last steps with those of one call without a cache.

    Args:
        steps: the logits of each of the last tokens, (batch, vocabulary).
        inputs: the arguments of the call with all tokens.
        cache: as for `running`.

    Raises:
        Error: stage `source`, if the logits differ by more than rounding.
    """
    if "use_cache" in inspect.signature(type(model).forward).parameters:
        inputs = inputs | {"use_cache": False}
    with running(model, cache):
        logits = type(model).forward(model, **inputs, return_dict=True).logits
    if not is_close(torch.stack(list(steps), dim=1), logits[:, -len(steps) :]):
        raise Error(
            "source",
            f"{type(model).__name__} computes other logits with {cache} than without one",
            hint="use another model, such as hf:llama, hf:gpt2, hf:t5 or hf:bart",
        )


def is_close(logits: torch.Tensor, expected: torch.Tensor) -> bool:
    """Returns whether two tensors of the same shape differ by rounding only."""
    bound = _SINGLE if expected.dtype in (torch.float32, torch.float64) else _REDUCED
    difference = (logits.double() - expected.double()).norm() / expected.double().norm()
    # NaN is not within the bound either.
    return bool(difference <= bound)


def tensor_versions(model: PreTrainedModel) -> dict[str, tuple[torch.Tensor, int]]:
    """Returns the tensors in plain attributes of the model, with the number of writes to each."""
    named = named_attributes(model)
    return {name: (tensor, tensor._version) for name, tensor in named.items()}


def check_no_own_state(model: PreTrainedModel, before: dict[str, tuple[torch.Tensor, int]]) -> None:
    """Raises an Error if the last step has changed an attribute of the model (RecurrentGemma).

    The next text would begin with that state.

    Args:
        before: `tensor_versions` before the step.

    Raises:
        Error: stage `source`.
    """
    for name, (tensor, version) in tensor_versions(model).items():
        old, old_version = before.get(name, (None, version))
        is_written = old is tensor and version != old_version
        if is_written or (old is not tensor and not _is_equal(old, tensor)):
            raise Error(
                "source",
                f"{type(model).__name__} keeps state outside of its cache: {name}",
                hint="use another model, such as hf:llama or hf:mamba",
            )


def _is_equal(old: torch.Tensor | None, new: torch.Tensor) -> bool:
    return old is not None and old.shape == new.shape and torch.equal(old, new)
