"""Starts the process that parses modules with upstream MLIR.

This module does not import MLIR, so the process can start while this one imports torch-mlir.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import subprocess
from typing import Any

from unmess.core.errors.error import Error
from unmess.core.processes import children

_PACKAGE = "xtc-mlir-python-bindings"


class Inspector:
    """A process that runs `pipelines.portability.inspection` for one module.

    Attributes:
        version: name and version of the package of upstream MLIR.
    """

    def __init__(self) -> None:
        """Starts the process.

        Raises:
            Error: stage `load`, if the environment has no upstream MLIR.
        """
        if importlib.util.find_spec("mlir") is None:
            raise Error(
                "load",
                f"{_PACKAGE} is not installed",
                hint="run `unmess doctor` to compare the environment with the lock",
            )
        self.version = f"{_PACKAGE} {importlib.metadata.version(_PACKAGE)}"
        self._process = subprocess.Popen(
            children.command("pipelines.portability.inspection"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=children.environment(),
        )

    def __enter__(self) -> Inspector:
        return self

    def __exit__(self, *_exception: object) -> None:
        self._process.kill()
        self._process.communicate()

    def ask(self, request: dict[str, Any]) -> subprocess.CompletedProcess:
        """Sends the request and waits until the process exits."""
        out, err = self._process.communicate(json.dumps(request).encode())
        return subprocess.CompletedProcess(self._process.args, self._process.returncode, out, err)
