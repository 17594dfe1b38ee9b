"""Options of a partition."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from unmess.core.options.target_options import TargetOptions


@dataclass(frozen=True)
class PartitionOptions:
    """How a program is divided.

    Attributes:
        target: the hardware to compile for, for backends that have a choice.
        unchecked: omit run-time checks of data in compiled regions.
        allow_ops: operators that must be compiled: see `OperatorLists`.
        deny_ops: operators that run in eager PyTorch.
        min_operators: regions with fewer operators than this run in eager PyTorch, unless they have
            a matrix product or a convolution. Views do not count.
    """

    target: TargetOptions | None = None
    unchecked: bool = False
    allow_ops: Collection[str] = ()
    deny_ops: Collection[str] = ()
    min_operators: int = 3
