"""Writes a program's signatures to a bundle. `unmess.bundle.signature` reads them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from unmess.bundle.elements import SUPPORTED
from unmess.core.module.module import Module
from unmess.core.signature.serialized import form_of, without_form
from unmess.core.signature.torch_signature import TorchSignature


def write_signature(path: Path, module: Module) -> None:
    """Writes the signatures of a module's entry points.

    Raises:
        Error: stage `usage`; something in a call has no form without PyTorch.
    """
    entries = {name: _entry(signature) for name, signature in module.entries.items()}
    path.write_text(json.dumps({"entries": entries}, indent=1) + "\n")


def _entry(signature: TorchSignature) -> dict[str, Any]:
    if signature.restore is not None:
        raise without_form(
            "a result that Python code converts after the call, as in detection models"
        )
    return form_of(signature, kinds=("input", "state"), dtypes=SUPPORTED)
