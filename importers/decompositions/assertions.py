"""Checks of values, for what eager refuses and plain operators would compute with."""

from __future__ import annotations

import torch

from unmess.core.value_checks import PREFIX


def require(condition: torch.Tensor, message: str) -> None:
    """Ends the call with an error unless `condition` (any shape) is true everywhere."""
    torch.ops.aten._assert_async.msg(condition.all(), PREFIX + message)
