"""Embeddings whose norm is limited."""

from __future__ import annotations

import torch

# Eager adds it to each norm before the division.
_EPSILON = 1e-7


def embedding_renorm(
    table: torch.Tensor, indices: torch.Tensor, max_norm: float, norm_type: float
) -> torch.Tensor:
    """Scales the rows of `table` (rows, width) at `indices` (any shape) to at most `max_norm`.

    Args:
        norm_type: the order of the vector norm.
    """
    flat = indices.reshape(-1).to(torch.int64)
    is_used = torch.zeros_like(table[:, 0], dtype=torch.int64).scatter(0, flat, 1).unsqueeze(1) != 0
    norm = torch.linalg.vector_norm(table, norm_type, 1, True)
    is_scaled = torch.logical_and(is_used, norm > max_norm)
    return torch.where(is_scaled, table * (max_norm / (norm + _EPSILON)), table)
