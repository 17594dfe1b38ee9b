"""Example inputs of control models: states, actions and returns of an agent."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

_STEPS = 8


def trajectories(config: Any, names: Any, batch: int) -> Iterator[dict[str, Any]]:
    """Yields a call with trajectories of `batch` agents, for decision transformers."""
    yield {
        "states": torch.randn(batch, _STEPS, config.state_dim),
        "actions": torch.randn(batch, _STEPS, config.act_dim),
        "rewards": torch.randn(batch, _STEPS, 1),
        "returns_to_go": torch.rand(batch, _STEPS, 1),
        "timesteps": torch.arange(_STEPS).repeat(batch, 1),
        "attention_mask": torch.ones(batch, _STEPS, dtype=torch.int64),
    }
