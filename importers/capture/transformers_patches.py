"""Models of transformers are captured in the form that the library itself keeps for exporters.

`transformers.exporters` has, for a few dozen modules, an equal form without loops over the values
of tensors (attention over packed images, for one). Checks of the model's arguments are left out,
since a graph has no place for them; `check` calls the model itself, with its checks.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator

import torch

_NO_CHECKS = "TRANSFORMERS_DISABLE_TORCH_CHECK"


@contextlib.contextmanager
def exportable(module: torch.nn.Module) -> Iterator[None]:
    """Inside, models of transformers that are part of `module` can be captured."""
    if not _has_transformers_model(module):
        yield
        return
    from transformers.exporters import exporter_dynamo, utils

    patches = [
        (utils.import_dotted_path(path), attribute, factory)
        for path, attribute, factory in utils._PATCHES["dynamo"]
        # The others are of models that are not there.
        if path.startswith("transformers.") and _is_loaded(path)
    ]
    patches = [patch for patch in patches if not _forgets_norms(patch[0], module)]
    before = os.environ.get(_NO_CHECKS)
    os.environ[_NO_CHECKS] = "1"
    try:
        with utils.patch_attributes(patches), exporter_dynamo.reset_model_state(module):
            yield
    finally:
        if before is None:
            del os.environ[_NO_CHECKS]
        else:
            os.environ[_NO_CHECKS] = before


def _has_transformers_model(module: torch.nn.Module) -> bool:
    # Whoever has such a model has loaded the library.
    library = sys.modules.get("transformers.modeling_utils")
    return library is not None and any(
        isinstance(part, library.PreTrainedModel) for part in module.modules()
    )


def _forgets_norms(owner: type, module: torch.nn.Module) -> bool:
    """Whether the library's form of an attention leaves out a part of the attention itself.

    It has the norms of queries and keys where these have projections of their own, and not where
    there is a joint one (GLM-OCR).
    """
    return any(
        type(part) is owner and hasattr(part, "qkv") and hasattr(part, "q_norm")
        for part in module.modules()
    )


def _is_loaded(path: str) -> bool:
    """Whether the module that a class, or the module itself, is in has been imported."""
    return path in sys.modules or path.rpartition(".")[0] in sys.modules
