"""Puts transformers models in an exportable form, and fixes inputs that describe layouts.

The number and positions of an image's patches determine the operations of a model, not only its
values. Models compute with them in Python, from the values of small integer tensors, so a graph is
valid for one layout. These tensors are fixed to those of the example, and values that depend only
on them are computed during the capture. The same applies to numbers that modules store as tensors,
such as the strides of audio codecs.
"""

from __future__ import annotations

import contextlib
import copy
import inspect
from collections.abc import Iterator
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import _disable_current_modes

from importers.sources.huggingface.parts import parts

# The note for a decoder that is called without its cache.
WITHOUT_CACHE = "use_cache is off: no key-value cache in the result"


class _NoCache:
    """An embedding cache that is always empty."""

    def has(self, _key: Any) -> bool:
        """Returns False."""
        return False

    def put(self, _key: Any, _value: Any) -> None:
        """Stores nothing."""


def adjust(model: Any) -> tuple[str, ...]:
    """Puts a model in its exportable form. Returns notes on the changes."""
    from transformers.exporters.exporter_dynamo import register_cache_pytrees_for_model

    notes = []
    # Some models return a cache in any case (Diffusion Gemma).
    register_cache_pytrees_for_model(model)
    config = model.config.get_text_config()
    # The configuration of an encoder has `use_cache` too, without effect.
    decodes = getattr(config, "is_decoder", True) or config.is_encoder_decoder
    if hasattr(config, "use_cache") and decodes:
        notes.append(WITHOUT_CACHE)
        # Some configurations enable it again in their parts (T5Gemma's decoder).
        for part in parts(model.config):
            if hasattr(part, "use_cache"):
                part.use_cache = False
    # A program has no embeddings of earlier calls. Those calls may have had other weights.
    caches = [name for name, value in vars(model).items() if _is_embedding_cache(value)]
    for name in caches:
        setattr(model, name, _NoCache())
    if caches:
        notes.append(f"embedding caches are off: {', '.join(caches)}")
    implementations = model.get_experts_implementation().values()
    if "grouped_mm" in implementations:
        # The default sorts tokens by expert, which is not worth its cost in a tiny example.
        own = "grouped_mm"
    elif "eager" in implementations and model._can_set_experts_implementation():
        # It loops over the experts that the data selects. Models without experts report it too.
        own = "eager"
    else:
        own = None
    if own is not None:
        model.set_experts_implementation("batched_mm")
        notes.append(f"experts are computed by batched_mm instead of {own}")
    return tuple(notes)


def _is_embedding_cache(value: Any) -> bool:
    return type(value).__name__.endswith("LRUCache") and hasattr(value, "has")


LAYOUT = frozenset(
    (
        "grid_thw",
        "image_grid_thw",
        "video_grid_thw",
        "image_grid_hw",
        "image_grids",
        "image_sizes",
        "spatial_shapes",
        "target_sizes",
        "merge_sizes",
        "image_merge_sizes",
        "pixel_position_ids",
        "image_position_ids",
        "input_features_mask",
        "feature_attention_mask",
        "audio_feature_lengths",
        "pixel_attention_mask",
        "pixel_mask",
        "aspect_ratio_ids",
        "aspect_ratio_mask",
        "num_local_patches",
        "patches_grid",
        "past_values_padding",
    )
)


def fix_layout(
    model: torch.nn.Module, kwargs: dict[str, Any]
) -> tuple[torch.nn.Module, dict[str, Any], tuple[str, ...]]:
    """Returns the model with the layout in `kwargs` fixed, the other arguments, and a note."""
    layout = {name: value for name, value in kwargs.items() if name in LAYOUT}
    integers = _kept_integers(model)
    if not integers and not layout:
        return model, kwargs, ()
    others = {name: value for name, value in kwargs.items() if name not in layout}
    notes = (f"fixed to the example's values: {', '.join(layout)}",) if layout else ()
    return FixedLayout(model, layout, tuple(others), integers), others, notes


def _kept_integers(model: torch.nn.Module) -> list[tuple[str, str, torch.Tensor]]:
    """Returns the integers that modules store as tensors: module path, attribute and value.

    They are sizes from the configuration. Integers in the state dict are excluded, because they may
    be trained or be counters.
    """
    return [
        (path, name, value.clone())
        for path, module in model.named_modules()
        for name, value in (*_temporary(module), *vars(module).items())
        if isinstance(value, torch.Tensor) and not value.dim() and _is_integer(value)
    ]


def _temporary(module: torch.nn.Module) -> list[tuple[str, torch.Tensor | None]]:
    return [(name, module._buffers[name]) for name in sorted(module._non_persistent_buffers_set)]


class FixedLayout(torch.nn.Module):
    """A model whose inputs in `layout` are constants. Its parameters are `names`.

    The `integers` of its modules (module path, attribute, value) are constants too.
    """

    def __init__(
        self,
        model: torch.nn.Module,
        layout: dict[str, Any],
        names: tuple[str, ...],
        integers: list[tuple[str, str, torch.Tensor]],
    ):
        super().__init__()
        self.model = model
        # In a dict and a list, so that they are not state of the module.
        self._layout = layout
        self._integers = integers
        self._names = names

        def forward(**kwargs):
            return self._call(kwargs)

        kind = inspect.Parameter.KEYWORD_ONLY
        forward.__signature__ = inspect.Signature([inspect.Parameter(n, kind) for n in names])
        self.forward = forward

    def __deepcopy__(self, memo):
        return FixedLayout(
            copy.deepcopy(self.model, memo),
            copy.deepcopy(self._layout, memo),
            self._names,
            copy.deepcopy(self._integers, memo),
        )

    def _call(self, kwargs: dict[str, Any]) -> Any:
        if not torch.compiler.is_exporting():
            return self.model(**kwargs, **self._copied())
        with self._with_integers(), _ComputeConstants():
            return self.model(**kwargs, **self._copied())

    @contextlib.contextmanager
    def _with_integers(self) -> Iterator[None]:
        """Restores the modules' integers, which `torch.export` replaced by traced ones."""
        replaced = []
        for path, name, value in self._integers:
            module = self.model.get_submodule(path)
            holder = module._buffers if name in module._buffers else vars(module)
            replaced.append((holder, name, holder[name]))
            holder[name] = value
        try:
            yield
        finally:
            for holder, name, value in replaced:
                holder[name] = value

    def _copied(self) -> dict[str, Any]:
        """Returns a copy of the layout, because some models write into their arguments."""
        return {
            name: value.clone() if torch.is_tensor(value) else value
            for name, value in self._layout.items()
        }


class _ComputeConstants(TorchFunctionMode):
    """Computes functions of constants immediately, instead of tracing them."""

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        leaves = torch.utils._pytree.tree_leaves((args, kwargs))
        tensors = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]
        symbolic = any(isinstance(leaf, _SYMBOLS) for leaf in leaves)
        constant = all(type(tensor) is torch.Tensor for tensor in tensors) and not symbolic
        if constant and (tensors or _makes_integers(function, kwargs)):
            with torch._C.DisableTorchFunction(), _disable_current_modes():
                return function(*args, **kwargs)
        if tensors and type(tensors[0]) is torch.Tensor and _writes(function):
            raise RuntimeError(f"{function.__name__} writes traced values into a constant")
        # Pass constant sizes as numbers, because they are read where no mode can intercept.
        return function(*_numbers(args), **_numbers(kwargs))


def _numbers(value: Any) -> Any:
    """Replaces constant integer tensors in lists and slices of the arguments by their numbers."""
    if isinstance(value, dict):
        return {name: _numbers(one) for name, one in value.items()}
    if isinstance(value, slice):
        return slice(*map(_number, (value.start, value.stop, value.step)))
    if type(value) in (tuple, list):
        if value and all(isinstance(one, int) or _number(one) is not one for one in value):
            return type(value)(map(_number, value))
        return type(value)(map(_numbers, value))
    return value


def _number(value: Any) -> Any:
    """Returns the integer in a constant scalar tensor; any other value unchanged."""
    if type(value) is not torch.Tensor or value.dim() or not _is_integer(value):
        return value
    with torch._C.DisableTorchFunction(), _disable_current_modes():
        return value.item()


def _is_integer(tensor: torch.Tensor) -> bool:
    return not (tensor.is_floating_point() or tensor.is_complex() or tensor.dtype == torch.bool)


_SYMBOLS = (torch.SymInt, torch.SymFloat, torch.SymBool)
_FACTORIES = (torch.tensor, torch.as_tensor, torch.arange, torch.linspace)
_FILLED = (torch.zeros, torch.ones, torch.full)


def _makes_integers(function: Any, kwargs: dict[str, Any]) -> bool:
    """Returns True if a call without tensor arguments is likely to create positions or counts."""
    if function in _FACTORIES:
        return True
    dtype = kwargs.get("dtype")
    return function in _FILLED and dtype is not None and not dtype.is_floating_point


def _writes(function: Any) -> bool:
    name = getattr(function, "__name__", "")
    return name == "__setitem__" or (name.endswith("_") and not name.endswith("__"))
