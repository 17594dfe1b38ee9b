"""Window functions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch


def _window(values: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    """Returns the operator that computes `values(i, n, *parameters)` for each place i.

    n is the length of a periodic window, and one less for another one. A window of length 1 is 1.
    """

    def window(
        length: int,
        periodic: bool = True,
        *parameters: float,
        dtype: torch.dtype | None = None,
        **_options: Any,
    ) -> torch.Tensor:
        dtype = dtype or torch.get_default_dtype()
        if length <= 1:
            return torch.ones(length, dtype=dtype)
        return values(
            torch.arange(length, dtype=dtype), length if periodic else length - 1, *parameters
        )

    return window


def _hamming(place: torch.Tensor, n: int, alpha: float = 0.54, beta: float = 0.46) -> torch.Tensor:
    return torch.cos(place * (2 * math.pi / n)) * -beta + alpha


def _blackman(place: torch.Tensor, n: int) -> torch.Tensor:
    angle = place * (math.pi / n)
    return torch.cos(angle * 4) * 0.08 - torch.cos(angle * 2) * 0.5 + 0.42


def _bartlett(place: torch.Tensor, n: int) -> torch.Tensor:
    rising = place * (2.0 / n)
    return torch.where(place <= n // 2, rising, 2 - rising)


def _kaiser(place: torch.Tensor, n: int, beta: float = 12.0) -> torch.Tensor:
    distance = place * (2.0 / n) - 1
    largest = torch.special.i0(torch.full((), beta, dtype=place.dtype))
    return torch.special.i0(beta * torch.sqrt(1 - distance * distance)) / largest


# By operator and overload.
WINDOWS = {
    **dict.fromkeys(
        (
            "hamming_window.default",
            "hamming_window.periodic",
            "hamming_window.periodic_alpha",
            "hamming_window.periodic_alpha_beta",
        ),
        _window(_hamming),
    ),
    **dict.fromkeys(("blackman_window.default", "blackman_window.periodic"), _window(_blackman)),
    **dict.fromkeys(("bartlett_window.default", "bartlett_window.periodic"), _window(_bartlett)),
    **dict.fromkeys(
        ("kaiser_window.default", "kaiser_window.periodic", "kaiser_window.beta"),
        _window(_kaiser),
    ),
}
