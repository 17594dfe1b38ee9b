"""The recorded result of eager PyTorch for an example call, in place of the model."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch
from torch.utils import _pytree as pytree

from unmess.core.errors.error import Error


@dataclass
class Recorded:
    """Eager's result of one call, without the model.

    Attributes:
        file: the file that it was read from, for messages.
        call: (args, kwargs) of the call; None if no call was recorded.
        has_result: whether the fields below were recorded, too.
        result: the model's own result.
        exact: the leaves of the result, computed in float64; None if they were not recorded.
        state: the buffers that the call wrote, by name, with their values after it.
    """

    file: str
    call: tuple[tuple[Any, ...], dict[str, Any]] | None = None
    has_result: bool = False
    result: Any = None
    exact: list[Any] | None = None
    state: dict[str, torch.Tensor] = field(default_factory=dict)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Returns the recorded result.

        Raises:
            Error: stage `run`; no result was recorded, or the call is another one.
        """
        if not self.has_result:
            raise Error(
                "run",
                f"{self.file} has no recorded result of eager PyTorch, so there is "
                "nothing to compare with",
                hint="run `unmess check` on the original model, or `unmess run` on this file",
            )
        if not _equal(self.call, (args, kwargs)):
            raise Error(
                "run",
                f"{self.file} has eager's result for its example call only",
                hint="run `unmess check` on the original model with other inputs",
            )
        return pytree.tree_map_only(torch.Tensor, torch.clone, self.result)


def _equal(a: Any, b: Any) -> bool:
    mine, theirs = pytree.tree_leaves(a), pytree.tree_leaves(b)
    return len(mine) == len(theirs) and all(map(_equal_leaf, mine, theirs))


def _equal_leaf(a: Any, b: Any) -> bool:
    if isinstance(a, torch.Tensor):
        # NaN counts as equal to NaN.
        same = isinstance(b, torch.Tensor) and a.shape == b.shape and a.dtype == b.dtype
        return same and bool(((a == b) | ((a != a) & (b != b))).all())
    return type(a) is type(b) and a == b
