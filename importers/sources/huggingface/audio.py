"""Example inputs of audio models: waveforms and spectrograms."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import torch

from importers.sources.huggingface.parts import first

_BINS = (
    "num_mel_bins",
    "n_mels",
    "mel_bins",
    "feature_size",
    "input_feat_per_channel",
    "input_feat_size",
    "feature_projection_input_dim",
    "input_dim",
    "input_size",
    "num_mel_channels",
    "audio_channels",
)
# Samples of a waveform: more than the receptive field of the convolutions that shorten it.
_SAMPLES = 4000
_STEPS = 128


def waveforms(config: Any, names: Any, batch: int) -> Iterator[dict[str, Any]]:
    """Yields candidate calls with sound as `input_values`: samples, channels of them, or bins."""
    yield {"input_values": torch.randn(batch, _SAMPLES)}
    channels = first(config, "audio_channels", kind="audio", default=1)
    yield {"input_values": torch.randn(batch, channels, _SAMPLES)}
    steps = first(config, "max_length", kind="audio", default=_STEPS)
    bins = first(config, *_BINS, kind="audio", default=80)
    yield {"input_values": torch.randn(batch, steps, bins)}
    yield {"input_values": torch.randn(batch, channels, _SAMPLES * 4)}
    width = first(config, "hidden_size", default=64)
    call = {"input_values": torch.randn(batch, _STEPS, width)}
    if "decoder_input_values" in names:
        call["decoder_input_values"] = torch.randn(batch, _STEPS, width)
    yield call


def spectrograms(
    config: Any, names: Any, batch: int, name: str = "input_features"
) -> Iterator[dict[str, Any]]:
    """Yields candidate calls with sound as frequency bins over time, as the argument `name`."""
    widths = [first(config, bins, kind="audio") for bins in _BINS]
    positions = first(config, "max_source_positions", kind="audio")
    lengths = [_STEPS]
    if isinstance(positions, int):
        # Whisper's encoder halves the number of steps, and has a position for each remaining one.
        lengths = [2 * positions, _STEPS, 4 * positions]
    if isinstance(window := first(config, "n_window", kind="audio"), int):
        lengths.insert(0, 4 * window)
    for steps, bins in product(lengths, dict.fromkeys(filter(None, (*widths, 80)))):
        for shape in ((batch, bins, steps), (batch, steps, bins)):
            call = {name: torch.randn(shape)}
            if "input_features_mask" in names:
                yield call | {"input_features_mask": torch.ones(batch, steps, dtype=torch.int64)}
                yield call | {"input_features_mask": torch.ones(batch, steps, dtype=torch.bool)}
            if "audio_feature_lengths" in names:
                yield call | {
                    "feature_attention_mask": torch.ones(batch, steps, dtype=torch.int64),
                    "audio_feature_lengths": torch.full((batch,), steps),
                }
            yield call
            if "audio_mel_mask" in names:
                yield call | {"audio_mel_mask": torch.zeros(batch, steps, dtype=torch.bool)}
            if "feature_attention_mask" in names:
                yield call | {"feature_attention_mask": torch.ones(batch, steps, dtype=torch.int64)}
    yield {
        name: torch.randn(batch, 1, 1024, 64),
        "is_longer": torch.zeros(batch, 1, dtype=torch.bool),
    }
