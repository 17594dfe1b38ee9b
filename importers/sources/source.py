"""The result of resolving a model string."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from unmess.core.errors.error import Error


@dataclass
class Source:
    """A model with example arguments.

    Attributes:
        name: the name for messages and file names, without the source's prefix.
        model: an `nn.Module` in evaluation mode, or a function.
        args, kwargs: an example call.
        dynamic_shapes: in the format of `torch.export.export`.
        notes: notes for the user, such as that the weights are random.
        without_example: the error to raise if the source has no example call and the user gives
            none.
        entries: the source of each entry point, if there are several. They share the weights of
            `model`, and `model` itself is not called.
        tokenizer: the transformers tokenizer, if one comes with the model.
    """

    name: str
    model: Callable[..., Any]
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)
    dynamic_shapes: Any = None
    notes: tuple[str, ...] = ()
    without_example: Error | None = None
    entries: dict[str, Source] = field(default_factory=dict)
    tokenizer: Any = None
