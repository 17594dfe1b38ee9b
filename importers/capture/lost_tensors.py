"""Detects tensors of a tracer that end up in a program as weights."""

from __future__ import annotations

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch._subclasses.functional_tensor import FunctionalTensor

from unmess.core.errors.user_source import node_line


class LostTensor(Exception):
    """PyTorch's tracer lost a tensor; `where` is the user's line that reads it."""

    def __init__(self, message: str, where: str | None):
        super().__init__(message)
        self.where = where


def refuse_lost_tensors(exported: torch.export.ExportedProgram) -> None:
    """Raises LostTensor if a weight or constant of the program is a tensor of a tracer.

    This happens if a model computes a tensor where the tracer records nothing: in another thread,
    or by an access that is not an operator. Such a tensor has no values. PyTorch's passes recurse
    on it in native code until the stack overflows, so no pass may run on it.
    """
    for name, tensor in (*exported.state_dict.items(), *exported.constants.items()):
        if isinstance(tensor, torch.Tensor) and has_no_values(tensor):
            raise LostTensor(
                "PyTorch's tracer lost a tensor that the model computes in another thread or "
                "reads without an operator",
                _reader(exported, name),
            )


def has_no_values(tensor: torch.Tensor) -> bool:
    """Returns True for a tensor of a tracer or of a transform such as `torch.func.vmap`."""
    return (
        isinstance(tensor, (FakeTensor, FunctionalTensor))
        or torch._is_functional_tensor(tensor)
        or torch._C._functorch.is_functorch_wrapped_tensor(tensor)
    )


def _reader(exported: torch.export.ExportedProgram, name: str) -> str | None:
    """Returns the user's line that first reads a weight or constant, or None."""
    placeholders = {
        spec.arg.name for spec in exported.graph_signature.input_specs if spec.target == name
    }
    for node in exported.graph.nodes:
        if node.op == "placeholder" and node.name in placeholders:
            for user in node.users:
                if (line := node_line(user)) is not None:
                    return line
    return None
