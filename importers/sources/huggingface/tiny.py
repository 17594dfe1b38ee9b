"""The source `hf:TYPE`: a tiny network of a model type, with random weights."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import torch

from importers.sources.huggingface.adjust import adjust, fix_layout
from importers.sources.huggingface.example import parameters, working_example
from importers.sources.huggingface.tasks import class_name
from importers.sources.huggingface.tiny_config import LEVELS, Level, tiny_config
from importers.sources.huggingface.tiny_sizes import TinySizes, read_tiny_sizes
from importers.sources.random_weights import SEED, seeded, vary_constant_parameters
from importers.sources.source import Source
from unmess.core.errors.error import Error, first_line

# The maximum number of parameters of a tiny network. A larger one is not a useful example.
_MOST = 100_000_000

# The error message of transformers for a package that is not installed.
_REQUIRES = re.compile(r"requires the (\w+) library but it was not found")


def find_tiny(
    model_type: str, name: str | None = None, check: Callable[[Any], None] | None = None
) -> Source:
    """Builds the model of a type from the smallest configuration that builds and runs.

    Args:
        name: of the model class; by default the one for the type's task. A class that is a decoder
            only if its configuration says so gets a configuration of a decoder.
        check: called with the model. If it raises an exception, the next configuration is tried.

    Raises:
        Error: stage `source`, with the cause of the first failure.
    """
    import transformers

    problems: list[Exception] = []
    try:
        model_class = getattr(transformers, name or class_name(model_type))
        _check_callable(model_class)
        # The class may be that of a part, such as the text model of an image model.
        sized = model_class.config_class.model_type if name else model_type
        own = read_tiny_sizes().get(sized, TinySizes())
        for level in LEVELS:
            try:
                source = _build(model_type, model_class, level, own, decodes=name is not None)
                if check is not None:
                    check(source.model)
                return source
            except ImportError:
                raise
            except Exception as problem:
                problems.append(problem)
        raise problems[0]
    except Exception as problem:
        if missing := _REQUIRES.search(str(problem)):
            raise Error(
                "source",
                f"cannot build a tiny {model_type}: it requires the package {missing[1]}",
                hint=f"install {missing[1]}",
            ) from problem
        raise Error(
            "source",
            f"cannot build a tiny {model_type}: {first_line(_telling(problem))}",
            hint="give a folder (hf:./FOLDER) or write a factory in a Python file",
        ) from problem


def _check_callable(model_class: Any) -> None:
    """Raises TypeError if no example call exists: no `forward`, or one that requires a session."""
    if model_class.forward is torch.nn.Module.forward:
        raise TypeError(f"{model_class.__name__} has no forward")
    if "inference_session" in parameters(model_class):
        raise TypeError(f"{model_class.__name__}.forward takes a session, which is not a tensor")


def _build(
    model_type: str, model_class: Any, level: Level, own: TinySizes, decodes: bool
) -> Source:
    config = tiny_config(model_class.config_class, level, own)
    if decodes and not config.is_encoder_decoder and hasattr(config, "is_decoder"):
        config.is_decoder = True
    # Measure the size on the meta device, which allocates no memory.
    with torch.device("meta"):
        size = sum(weight.numel() for weight in model_class(config).parameters())
    if size > _MOST:
        raise ValueError(f"the configuration has {size / 1e6:.0f} million parameters")
    with seeded():
        model = model_class(config).eval()
        notes = adjust(model)
        kwargs = working_example(model, own.example())
        changed = vary_constant_parameters(model, **_others(kwargs))
    model_name = type(model).__name__
    model, kwargs, fixed = fix_layout(model, kwargs)
    note = f"{model_name}, tiny, random weights (seed {SEED}; {changed})"
    return Source(model_type, model, (), kwargs, notes=(note, *notes, *fixed))


def _others(kwargs: dict[str, Any]) -> dict[str, Any]:
    """Returns the arguments with other images.

    Batch norm statistics computed from the example itself would normalize it away.
    """
    images = kwargs.get("pixel_values")
    if images is None:
        return kwargs
    return kwargs | {"pixel_values": torch.randn_like(images)}


def _telling(problem: Exception) -> BaseException:
    """Returns the problem, or its cause if a validator refused the configuration."""
    refused = "Validation" in type(problem).__name__ and problem.__cause__ is not None
    return problem.__cause__ if refused else problem
