"""Example inputs of vision models: images, clips, and patches with their positions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from importers.sources.huggingface.parts import first
from importers.sources.huggingface.tiny_config import IMAGE

_CHANNELS = ("num_channels", "in_channels", "in_chans", "input_channels", "num_input_channels")
_FRAMES = ("num_frames", "frames_per_clip", "tubelet_frames", "num_image_with_embedding")
# Patches along each side, a multiple of the merge size of every model.
_GRID = 8


def pixels(config: Any, names: Any, batch: int) -> Iterator[dict[str, Any]]:
    """Yields candidate calls with `batch` images as `pixel_values`, the likely ones first."""
    channels = first(config, *_CHANNELS, kind="vision", default=3)
    height, width = _size(config)
    if "grid_thw" in names or "image_grid_thw" in names or "image_grid_hw" in names:
        yield _patches_with_grid(config, names, channels)
        # The same call, with each patch as a small image.
        call = _patches_with_grid(config, names, channels)
        patches = next(iter(call))
        side = _patch(config)
        if call[patches].shape[-1] == channels * side**2:
            images = call[patches].reshape(-1, channels, side, side)
            yield call | {patches: images}
            yield call | {patches: images[None]}
    if "spatial_shapes" in names:
        yield _patches_with_shapes(config, channels, batch)
    if "pixel_position_ids" in names or "image_position_ids" in names:
        yield _patches_with_positions(config, names, channels, batch)
    if "target_sizes" in names:
        yield _packed_patches(config, channels)
    if "flattened_patches" in names:
        side = _GRID
        size = first(config, "patch_size", kind="vision", default=16)
        width_of_patch = first(config, "patch_embed_hidden_size", default=channels * size**2)
        yield {
            "flattened_patches": torch.randn(batch, side * side, width_of_patch + 2).abs(),
        }
    frames = first(config, *_FRAMES, kind="vision")
    image = (channels, height, width)
    layouts = [(batch, *image), (batch, 1, *image), (batch, 2, *image), (batch, 1, 1, *image)]
    if isinstance(frames, int):
        layouts.insert(0, (batch, min(frames, 16), *image))
    size = _patch(config)
    rows = (height // size) * (width // size)
    layouts.append((batch, rows, channels * size**2))
    for layout in layouts:
        call = {"pixel_values": torch.randn(layout)}
        if "image_sizes" in names:
            sizes = torch.tensor([[height, width]] * batch)
            yield call | {"image_sizes": sizes}
        if "aspect_ratio_ids" in names:
            tiles = first(config, "max_num_tiles", kind="vision", default=1)
            yield {
                "pixel_values": torch.randn(batch, 1, tiles, *image),
                "aspect_ratio_ids": torch.ones(batch, 1, dtype=torch.int64),
                "aspect_ratio_mask": torch.ones(batch, 1, tiles, dtype=torch.int64),
            }
        if "pixel_mask" in names and "input_ids" in names and layout == layouts[0]:
            mask = torch.ones(batch, height, width, dtype=torch.int64)
            yield call | {"pixel_mask": mask}
        yield call


def clips(config: Any, names: Any, batch: int) -> Iterator[dict[str, Any]]:
    """Yields a candidate call with `batch` clips as `pixel_values_videos`."""
    channels = first(config, *_CHANNELS, kind="vision", default=3)
    frames = first(config, *_FRAMES, kind="vision", default=4)
    frames = min(frames if isinstance(frames, int) else 4, 16)
    yield {"pixel_values_videos": torch.randn(batch, frames, channels, *_size(config))}


def regions(config: Any, batch: int) -> dict[str, Any]:
    """Returns features of regions that a detector found in an image, and their boxes."""
    width, places = config.visual_feat_dim, config.visual_pos_dim
    return {
        "visual_feats": torch.randn(batch, _GRID, width),
        "visual_pos": torch.rand(batch, _GRID, places),
    }


def _size(config: Any) -> tuple[int, int]:
    size = first(config, "image_size", "img_size", "input_size", kind="vision", default=IMAGE)
    if isinstance(size, dict):
        size = (size["height"], size["width"])
    if not isinstance(size, (list, tuple)):
        size = (size, size)
    return int(size[-2]), int(size[-1])


def _patch(config: Any) -> int:
    size = first(config, "patch_size", "spatial_patch_size", kind="vision", default=16)
    return size if isinstance(size, int) else size[-1]


def _patches_with_grid(config: Any, names: Any, channels: int) -> dict[str, Any]:
    """Returns an image as a list of patches, with the shape of their grid."""
    names_of_frames = ("temporal_patch_size", "patch_size_t", "patch_temporal")
    frames = first(config, *names_of_frames, kind="vision", default=1)
    patches = torch.randn(_GRID * _GRID, channels * frames * _patch(config) ** 2)
    grid = torch.tensor([[1, _GRID, _GRID]])
    call: dict[str, Any] = {}
    for name in ("pixel_values", "hidden_states"):
        if name in names:
            call[name] = patches
            break
    for name in ("grid_thw", "image_grid_thw"):
        if name in names:
            call[name] = grid
    merge = first(config, "spatial_merge_size", kind="vision", default=1)
    for name in ("merge_sizes", "image_merge_sizes"):
        if name in names:
            call[name] = torch.tensor([merge])
    return call


def _patches_with_shapes(config: Any, channels: int, batch: int) -> dict[str, Any]:
    count = first(config, "num_patches", kind="vision", default=_GRID * _GRID)
    side = int(count**0.5)
    return {
        "pixel_values": torch.randn(batch, side * side, channels * _patch(config) ** 2),
        "pixel_attention_mask": torch.ones(batch, side * side, dtype=torch.int64),
        "spatial_shapes": torch.tensor([[side, side]] * batch),
    }


def _patches_with_positions(config: Any, names: Any, channels: int, batch: int) -> dict[str, Any]:
    side = _GRID - _GRID % first(config, "pooling_kernel_size", kind="vision", default=1)
    rows, columns = torch.meshgrid(torch.arange(side), torch.arange(side), indexing="ij")
    places = torch.stack([columns.flatten(), rows.flatten()], -1).expand(batch, -1, -1).clone()
    name = "pixel_position_ids" if "pixel_position_ids" in names else "image_position_ids"
    width = channels * _patch(config) ** 2
    return {"pixel_values": torch.rand(batch, side * side, width), name: places}


def _packed_patches(config: Any, channels: int) -> dict[str, Any]:
    """Returns an image as a row of patches, with the number of patches on each side."""
    size = _patch(config)
    return {
        "pixel_values": torch.randn(1, channels, size, size * _GRID * _GRID),
        "target_sizes": torch.tensor([[_GRID, _GRID]]),
    }
