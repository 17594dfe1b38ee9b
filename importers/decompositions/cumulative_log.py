"""Running logarithms of sums of exponentials."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from importers.decompositions.scan import scan


def logcumsumexp(x: torch.Tensor, dim: int) -> torch.Tensor:
    """Returns log(e^x0 + ... + e^xi) along `dim` for each i; NaN from the first NaN on."""
    if x.dtype in (torch.float16, torch.bfloat16):
        return torch.logcumsumexp(x.float(), dim).to(x.dtype)
    return scan(_added, (x.clone(),), dim)[0] if x.dim() else x.clone()


def _added(
    earlier: Sequence[torch.Tensor], later: Sequence[torch.Tensor]
) -> tuple[torch.Tensor, ...]:
    return (torch.logaddexp(earlier[0], later[0]),)
