"""Orders the results of `torch.export`, and creates hints for its exceptions."""

from __future__ import annotations

import torch
from torch.export.graph_signature import OutputKind


def output_specs(exported: torch.export.ExportedProgram) -> list:
    """Returns the output specs in the IR's order: the model's own results, then new state."""
    specs = exported.graph_signature.output_specs
    return sorted(specs, key=lambda spec: spec.kind != OutputKind.USER_OUTPUT)


def depends_on_data(problem: BaseException) -> bool:
    """Returns whether PyTorch failed because it needs the values of tensors."""
    text = f"{type(problem).__name__} {problem}"
    return any(
        kind in text
        for kind in ("data-dependent", "GuardOnDataDependent", "DataDependentOutputException")
    )


def capture_hint(problem: BaseException) -> str:
    """Returns a hint for a model that `torch.export` cannot capture."""
    text = f"{type(problem).__name__} {problem}"
    if "which it writes in the same call" in text:
        return "call the model once in eager before the capture, if only its first call differs"
    if "Could not extract specialized integer" in text:
        return (
            "a number that the program must know, such as the number of results, a rank or an "
            "axis, comes from a tensor: pass it as a Python integer"
        )
    if depends_on_data(problem):
        return "the control flow depends on values: use torch.where or torch.cond, or torch._check"
    if "DynamicShapes" in text or "Constraints violated" in text or "ConstraintViolation" in text:
        return "the model fixes a dimension declared dynamic: make it static or use Dim.AUTO"
    return (
        "the model runs in eager PyTorch, but torch.export fails: `unmess check --debug` shows "
        "its traceback"
    )
