"""Ends transforms of `torch.func` that a failed capture leaves active."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import torch
from torch._C import _functorch as functorch
from torch.autograd import forward_ad

_END = {
    functorch.TransformType.Vmap: functorch._vmap_decrement_nesting,
    functorch.TransformType.Grad: functorch._grad_decrement_nesting,
    functorch.TransformType.Jvp: functorch._jvp_decrement_nesting,
    functorch.TransformType.Functionalize: functorch._func_decrement_nesting,
}


@contextlib.contextmanager
def ended_transforms() -> Iterator[None]:
    """Ends the transforms that begin in the `with` block and do not end there.

    TorchDynamo begins `vmap`, `grad` and `jvp` when it traces them, and does not end them if it
    fails. All later captures in the process would fail.
    """
    depth, forward = _depth(), torch._C._is_fwd_grad_enabled()
    try:
        yield
    finally:
        while _depth() > depth:
            _END[functorch.get_interpreter_stack()[-1].key()]()
        torch._C._set_fwd_grad_enabled(forward)
        if forward_ad._current_level < 0:
            _end_forward_derivatives()


def _end_forward_derivatives() -> None:
    """Ends forward-mode differentiation, which PyTorch cannot nest."""
    try:
        level = torch._C._enter_dual_level()
    except RuntimeError:
        level = 0
    torch._C._exit_dual_level(level=level)


def _depth() -> int:
    """Returns the number of active transforms."""
    return len(functorch.get_interpreter_stack() or ())
