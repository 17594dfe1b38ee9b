"""The error of `torch.compile` for a graph that does not compile."""

from __future__ import annotations

from types import FrameType

from torch._dynamo.exc import BackendCompilerFailed

from unmess.core.errors.error import Error


class CompileError(BackendCompilerFailed, Error):
    """An `unmess.Error` that TorchDynamo passes on as it is.

    TorchDynamo replaces other exceptions of a backend by its own `BackendCompilerFailed`, or drops
    the compiled function.
    """

    def __init__(self, error: Error, frame: FrameType | None):
        """Takes over an error.

        Args:
            frame: the first frame that the traceback shows; TorchDynamo removes those before it.
        """
        Error.__init__(
            self, error.stage, error.cause, where=error.where, hint=error.hint, repro=error.repro
        )
        self.backend_name = "unmess"
        self.inner_exception = error
        self.first_useful_frame = frame

    def __reduce__(self):
        return self.inner_exception.__reduce__()
