"""Example inputs of time series models, and of control models: trajectories of agents."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch


def series(config: Any, names: Any, batch: int) -> Iterator[dict[str, Any]]:
    """Yields candidate calls with `batch` series as `past_values`, with several channels or one."""
    lags = getattr(config, "lags_sequence", None) or [0]
    steps = getattr(config, "context_length", None) or 32
    past = steps + max(lags)
    channels = getattr(config, "num_input_channels", None) or getattr(config, "input_size", 1) or 1
    several = (batch, past, channels)
    for shape in (several, (batch, past)) if channels > 1 else ((batch, past), several):
        call: dict[str, Any] = {"past_values": torch.randn(shape)}
        if "past_time_features" in names:
            features = config.num_time_features + config.num_dynamic_real_features
            call["past_time_features"] = torch.randn(batch, past, features)
        if "past_observed_mask" in names:
            call["past_observed_mask"] = torch.ones(shape, dtype=torch.bool)
        if "past_values_padding" in names:
            call["past_values_padding"] = torch.zeros(batch, past, dtype=torch.int64)
        if "freq" in names:
            call["freq"] = torch.zeros(batch, 1, dtype=torch.int64)
        if "future_time_features" in names:
            ahead = config.prediction_length
            future = (batch, ahead, *shape[2:])
            call["future_values"] = torch.randn(future)
            call["future_time_features"] = torch.randn(batch, ahead, features)
            if getattr(config, "num_static_categorical_features", 0):
                count = config.num_static_categorical_features
                call["static_categorical_features"] = torch.zeros(batch, count, dtype=torch.int64)
            if getattr(config, "num_static_real_features", 0):
                count = config.num_static_real_features
                call["static_real_features"] = torch.randn(batch, count)
        yield call
        if "past_values_padding" in names:
            yield {"past_values": list(call["past_values"])}


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
