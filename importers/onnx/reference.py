"""Runs ONNX models with onnxruntime or with onnx's reference evaluator."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from unmess.core.errors.error import Error, first_line

ONNXRUNTIME = "onnxruntime"
EVALUATOR = "onnx's reference evaluator"
# The session option for the folder of external data, for a model that is not read from a file.
_EXTERNAL_FOLDER = "session.model_external_initializers_file_folder_path"
# NumPy's own kinds of numbers; onnxruntime does not read ml_dtypes arrays.
_PLAIN_KINDS = "biufc"


def has_onnxruntime() -> bool:
    """Returns True if onnxruntime is installed."""
    try:
        import onnxruntime  # noqa: F401
    except ImportError:
        return False
    return True


class ReferenceResult:
    """Runs an ONNX model as it is in the file.

    Attributes:
        name: the implementation: onnxruntime if it is installed and accepts the model, else onnx's
            reference evaluator.
        refusal: why onnxruntime rejects the model, in one line, or None.
    """

    def __init__(self, proto: onnx.ModelProto, folder: Path):
        self._proto = proto
        self._folder = folder
        self._run: Any = None
        self.name = ONNXRUNTIME if has_onnxruntime() else EVALUATOR
        self.refusal: str | None = None

    def __call__(self, feeds: Mapping[str, np.ndarray]) -> Sequence[np.ndarray]:
        """Returns the outputs in the file's order.

        Raises:
            Error: stage `run`, if the model fails.
        """
        if self.name == ONNXRUNTIME:
            if self._run is None:
                self._start_onnxruntime(feeds)
            if self.name == ONNXRUNTIME:
                return self._called(dict(feeds))
        if self._run is None:
            self._start_evaluator()
        return [np.asarray(result) for result in self._called(dict(feeds))]

    def _called(self, feeds: dict[str, np.ndarray]) -> Sequence[Any]:
        try:
            return self._run(None, feeds)
        except Exception as problem:
            raise Error(
                "run",
                f"{self.name} fails on the model, so there is nothing to compare with: "
                f"{first_line(problem)}",
                hint="use `unmess run`, which does not compare, or give other inputs with --input",
            ) from problem

    def _start_onnxruntime(self, feeds: Mapping[str, np.ndarray]) -> None:
        import onnxruntime

        odd = [name for name, array in feeds.items() if array.dtype.kind not in _PLAIN_KINDS]
        if odd:
            self._take_the_evaluator(f"it does not read arrays of {feeds[odd[0]].dtype}")
            return
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        options.add_session_config_entry(_EXTERNAL_FOLDER, str(self._folder))
        try:
            session = onnxruntime.InferenceSession(
                self._proto.SerializeToString(), options, providers=["CPUExecutionProvider"]
            )
            kinds = {output.type for output in session.get_outputs()}
            if any("bfloat16" in kind or "float8" in kind or "int4" in kind for kind in kinds):
                self._take_the_evaluator(f"it does not return arrays of {', '.join(sorted(kinds))}")
                return
            self._run = session.run
        except Exception as problem:
            self._take_the_evaluator(first_line(problem))

    def _take_the_evaluator(self, why: str) -> None:
        self.name, self.refusal = EVALUATOR, why

    def _start_evaluator(self) -> None:
        from onnx.reference import ReferenceEvaluator

        whole = onnx.ModelProto()
        whole.CopyFrom(self._proto)
        onnx.load_external_data_for_model(whole, str(self._folder))
        with contextlib.suppress(AttributeError):
            whole.ClearField("training_info")
        try:
            self._run = ReferenceEvaluator(whole).run
        except Exception as problem:
            raise Error(
                "run",
                f"{self.name} rejects the model, so there is nothing to compare with: "
                f"{first_line(problem)}",
                hint="use `unmess run`, which does not compare",
            ) from problem
