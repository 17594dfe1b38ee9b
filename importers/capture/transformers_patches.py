"""Fixes transformers models while they are captured.

`transformers.exporters` replaces a few dozen modules by equivalent ones without loops over values
of tensors, such as attention over packed images. This file has replacements of methods for the
other models: each computes what the method computes, up to the order of sums. Checks of the model's
arguments are disabled, because a graph cannot contain them. `check` runs the unpatched model with
its checks.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any
from unittest import mock

import torch
from torch.utils import _pytree as pytree

# The patch of this layer of a cache keeps all tokens, so that it can grow between calls. A cache
# that the model creates in the call is exact without the patch.
_SLIDING = "DynamicSlidingWindowLayer"
_NO_CHECKS = "TRANSFORMERS_DISABLE_TORCH_CHECK"


def register_caches(module: torch.nn.Module) -> None:
    """Registers the key-value caches of transformers models in `module` as containers of tensors.

    A decoder returns its cache, unless its configuration says otherwise, and may take one.
    """
    for model in _transformers_models(module):
        from transformers.exporters import exporter_dynamo

        exporter_dynamo.register_cache_pytrees_for_model(model)


@contextlib.contextmanager
def exportable(module: torch.nn.Module, *, call: Any = ()) -> Iterator[None]:
    """Patches transformers models in `module` for capture, inside the `with` block.

    Args:
        call: the example arguments, which may contain key-value caches.
    """
    if not _transformers_models(module):
        yield
        return
    from transformers.exporters import exporter_dynamo, utils

    patches = [
        (utils.import_dotted_path(path), attribute, factory)
        for path, attribute, factory in utils._PATCHES["dynamo"]
        # Skip patches of PyTorch's own functions, and of models that are not loaded.
        if path.startswith("transformers.") and _is_loaded(path)
    ]
    patches = [patch for patch in patches if not _forgets_norms(patch[0], module)]
    if not _has_cache(call):
        patches = [patch for patch in patches if patch[0].__name__ != _SLIDING]
    before = os.environ.get(_NO_CHECKS)
    os.environ[_NO_CHECKS] = "1"
    try:
        with (
            utils.patch_attributes(patches),
            replaced(lambda path: utils.import_dotted_path(path) if _is_loaded(path) else None),
            exporter_dynamo.reset_model_state(module),
        ):
            yield
    finally:
        if before is None:
            del os.environ[_NO_CHECKS]
        else:
            os.environ[_NO_CHECKS] = before


def _transformers_models(module: torch.nn.Module) -> list[torch.nn.Module]:
    # If the module contains such a model, the library is loaded.
    library = sys.modules.get("transformers.modeling_utils")
    if library is None:
        return []
    return [part for part in module.modules() if isinstance(part, library.PreTrainedModel)]


def _has_cache(call: Any) -> bool:
    from transformers.exporters.exporter_dynamo import is_cache_object

    leaves = pytree.tree_leaves(call, is_leaf=is_cache_object)
    return any(map(is_cache_object, leaves))


def _forgets_norms(owner: type, module: torch.nn.Module) -> bool:
    """Returns True if the patch of an attention omits its norms of queries and keys.

    The patch applies these norms for separate projections, but not for a joint one (GLM-OCR).
    """
    return any(
        type(part) is owner and hasattr(part, "qkv") and hasattr(part, "q_norm")
        for part in module.modules()
    )


def _is_loaded(path: str) -> bool:
    """Returns True if a module, or the module that contains a class, has been imported."""
    return path in sys.modules or path.rpartition(".")[0] in sys.modules


@contextlib.contextmanager
def replaced(owner_of: Callable[[str], type | None]) -> Iterator[None]:
    """Replaces the methods inside the `with` block.

    Args:
        owner_of: returns the class of a path, or None if it is not loaded.
    """
    with contextlib.ExitStack() as stack:
        for path, name, method in _METHODS:
            if (owner := owner_of(path)) is not None:
                stack.enter_context(mock.patch.object(owner, name, method))
        yield


def _dbrx_experts(
    self, hidden_states: torch.Tensor, top_k_index: torch.Tensor, top_k_weights: torch.Tensor
) -> torch.Tensor:
    """Applies DBRX's experts with gathered weights, without a loop over the selected experts."""
    batch = hidden_states.shape[0]
    tokens, ids = _pairs(hidden_states.reshape(-1, self.hidden_size), top_k_index)
    shape = (-1, self.ffn_hidden_size, self.hidden_size)
    w1, v1, w2 = (weight.view(shape)[ids] for weight in (self.mlp.w1, self.mlp.v1, self.mlp.w2))
    inner = self.mlp.activation_fn(_products(w1, tokens)) * _products(v1, tokens)
    states = _products(w2.transpose(1, 2), inner)
    return _sums(states, top_k_weights).view(batch, -1, self.hidden_size)


def _longcat_flash_experts(
    self, hidden_states: torch.Tensor, top_k_index: torch.Tensor, top_k_weights: torch.Tensor
) -> torch.Tensor:
    """Applies LongCat-Flash's experts like DBRX's. The last experts return the token."""
    tokens, ids = _pairs(hidden_states, top_k_index)
    states = self.identity_expert(tokens)
    if self.gate_up_proj is not None:
        routed = ids.clamp(max=self.num_routed_experts - 1)
        gate, up = _products(self.gate_up_proj[routed], tokens).chunk(2, dim=-1)
        computed = _products(self.down_proj[routed], self.act_fn(gate) * up)
        states = torch.where((ids < self.num_routed_experts).unsqueeze(-1), computed, states)
    return _sums(states, top_k_weights).to(hidden_states.dtype)


def _pairs(tokens: torch.Tensor, top_k_index: torch.Tensor) -> Sequence[torch.Tensor]:
    """Returns the token and the expert of each pair of a token and one of its experts."""
    count = top_k_index.shape[-1]
    repeated = tokens.unsqueeze(1).expand(-1, count, -1).reshape(-1, tokens.shape[-1])
    return repeated, top_k_index.reshape(-1)


def _products(weights: torch.Tensor, vectors: torch.Tensor) -> torch.Tensor:
    """Returns the product of each matrix with its vector."""
    return torch.bmm(weights, vectors.unsqueeze(-1)).squeeze(-1)


def _sums(states: torch.Tensor, top_k_weights: torch.Tensor) -> torch.Tensor:
    """Returns the weighted sum of the results of each token's experts."""
    weighted = states * top_k_weights.reshape(-1, 1)
    return weighted.view(*top_k_weights.shape, -1).sum(-2).to(states.dtype)


_OMDET = "transformers.models.omdet_turbo.modeling_omdet_turbo"

# Path of a class, name of a method, and its replacement.
_METHODS: tuple[tuple[str, str, Any], ...] = (
    ("transformers.models.dbrx.modeling_dbrx.DbrxExperts", "forward", _dbrx_experts),
    (
        "transformers.models.longcat_flash.modeling_longcat_flash.LongcatFlashExperts",
        "forward",
        _longcat_flash_experts,
    ),
    # OmDet-Turbo caches embeddings of earlier calls by the values of their tokens. A program has no
    # earlier calls, so its cache is always empty.
    (
        f"{_OMDET}.OmDetTurboPreTrainedModel",
        "_get_cache_key_at_index",
        staticmethod(lambda _input_ids, _attention_mask, _index: None),
    ),
    (f"{_OMDET}.OmDetTurboLRUCache", "has", lambda _self, _key: False),
    (f"{_OMDET}.OmDetTurboLRUCache", "put", lambda _self, _key, _value: None),
)
