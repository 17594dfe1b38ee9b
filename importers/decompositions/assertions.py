"""Run-time checks of values that eager rejects but plain operators accept."""

from __future__ import annotations

import torch

from unmess.core.errors.check import VALUE_PREFIX


def require(condition: torch.Tensor, message: str) -> None:
    """Inserts a check that ends the call with an error unless all of `condition` is true."""
    torch.ops.aten._assert_async.msg(condition.all(), VALUE_PREFIX + message)
