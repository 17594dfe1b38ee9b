"""Inputs that say how others are laid out: part of the program, not of its arguments.

How many patches an image has, and where each lies, decides what a model computes, not only on what
values. Models work it out in Python, from the values of small integer tensors; a graph is for one
layout. Here these tensors are fixed to the example's, and all that depends on nothing else is
computed when the model is captured.
"""

from __future__ import annotations

import inspect
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import _disable_current_modes

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
    """The model with the layout in `kwargs` fixed, the other arguments, and a note."""
    layout = {name: value for name, value in kwargs.items() if name in LAYOUT}
    if not layout:
        return model, kwargs, ()
    others = {name: value for name, value in kwargs.items() if name not in layout}
    note = f"fixed to the example's values: {', '.join(layout)}"
    return FixedLayout(model, layout, tuple(others)), others, (note,)


class FixedLayout(torch.nn.Module):
    """A model whose inputs `layout` are constants; it takes the inputs called `names`."""

    def __init__(self, model: torch.nn.Module, layout: dict[str, Any], names: tuple[str, ...]):
        super().__init__()
        self.model = model
        # In a dict, so that they are no state of the module.
        self._layout = layout
        self._names = names

        def forward(**kwargs):
            return self._call(kwargs)

        kind = inspect.Parameter.KEYWORD_ONLY
        forward.__signature__ = inspect.Signature([inspect.Parameter(n, kind) for n in names])
        self.forward = forward

    def __deepcopy__(self, memo):
        import copy

        return FixedLayout(
            copy.deepcopy(self.model, memo), copy.deepcopy(self._layout, memo), self._names
        )

    def _call(self, kwargs: dict[str, Any]) -> Any:
        if not torch.compiler.is_exporting():
            return self.model(**kwargs, **self._copied())
        with _ComputeConstants():
            return self.model(**kwargs, **self._copied())

    def _copied(self) -> dict[str, Any]:
        """Models write into their arguments at times."""
        return {
            name: value.clone() if torch.is_tensor(value) else value
            for name, value in self._layout.items()
        }


class _ComputeConstants(TorchFunctionMode):
    """Computes at once what depends on constants only, instead of tracing it."""

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
        return function(*args, **kwargs)


_SYMBOLS = (torch.SymInt, torch.SymFloat, torch.SymBool)
_FACTORIES = (torch.tensor, torch.as_tensor, torch.arange, torch.linspace)
_FILLED = (torch.zeros, torch.ones, torch.full)


def _makes_integers(function: Any, kwargs: dict[str, Any]) -> bool:
    """Whether a function without tensors among its arguments makes places or counts."""
    if function in _FACTORIES:
        return True
    dtype = kwargs.get("dtype")
    return function in _FILLED and dtype is not None and not dtype.is_floating_point


def _writes(function: Any) -> bool:
    name = getattr(function, "__name__", "")
    return name == "__setitem__" or (name.endswith("_") and not name.endswith("__"))
