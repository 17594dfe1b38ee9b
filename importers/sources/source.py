"""What a model string stands for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from unmess.core.error import Error


@dataclass
class Source:
    """A model with example arguments.

    Attributes:
        name: for messages and file names, without the source's prefix.
        model: an `nn.Module` in evaluation mode, or a function.
        args, kwargs: an example call.
        dynamic_shapes: as `torch.export.export` takes it.
        notes: what the user should know, for instance that the weights are random.
        without_example: raised where the source has no example call and the user gives none.
        entries: what to capture for each entry point, where there are several; they share `model`'s
            weights, and there is no call of `model` itself.
        tokenizer: of transformers, where there is one beside the model.
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
