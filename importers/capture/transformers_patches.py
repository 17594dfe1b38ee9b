"""Applies the exporter patches of transformers while its models are captured.

`transformers.exporters` replaces a few dozen modules by equivalent ones without loops over values
of tensors, such as attention over packed images; `transformers_models.py` has more. Checks of the
model's arguments are disabled, because a graph cannot contain them. `check` runs the unpatched
model with its checks.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from typing import Any

import torch
from torch.utils import _pytree as pytree

from importers.capture.transformers_models import replaced

# The patch of this layer of a cache keeps all tokens, so that it can grow between calls. A cache
# that the model creates in the call is exact without the patch.
_SLIDING = "DynamicSlidingWindowLayer"
_NO_CHECKS = "TRANSFORMERS_DISABLE_TORCH_CHECK"


@contextlib.contextmanager
def exportable(module: torch.nn.Module, *, call: Any = ()) -> Iterator[None]:
    """Patches transformers models in `module` for capture, inside the `with` block.

    Args:
        call: the example arguments, which may contain key-value caches.
    """
    models = _transformers_models(module)
    if not models:
        yield
        return
    from transformers.exporters import exporter_dynamo, utils

    # A decoder returns its key-value cache, unless its configuration says otherwise.
    for model in models:
        exporter_dynamo.register_cache_pytrees_for_model(model)
    patches = [
        (utils.import_dotted_path(path), attribute, factory)
        for path, attribute, factory in utils._PATCHES["dynamo"]
        # The others belong to models that are not loaded.
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
