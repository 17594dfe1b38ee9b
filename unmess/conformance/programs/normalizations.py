"""Softmax, normalizations, attention and losses."""

from __future__ import annotations

from unmess.conformance.programs.builder import Builder, Family, Skip
from unmess.conformance.programs.values import FLOATS

NORMALIZATIONS = Family()


def _floats(b: Builder, low: int, high: int, least: int = 1) -> str:
    x = b.tensor(FLOATS, (low, high), where=lambda value: 0 not in value.shape)
    if 0 in b[x].shape or (b[x].shape and b[x].shape[-1] < least):
        raise Skip
    return x


def _varied(b: Builder, low: int, high: int) -> str:
    """Draws a value without constant rows.

    Division by the deviation of a constant row would only show rounding errors.
    """
    x = _floats(b, low, high, least=2)
    if not b[x].double().std(-1).min() > 0.1:
        raise Skip
    return x


@NORMALIZATIONS.add()
def softmax(b: Builder) -> str:
    x = b.tensor(FLOATS, (1, 4))
    name = b.pick("softmax", "log_softmax", "softmin")
    return f"F.{name}({x}, dim={b.axis(x)})"


@NORMALIZATIONS.add()
def layer_norm(b: Builder) -> str:
    x = _varied(b, 1, 4)
    shape = tuple(b[x].shape[-b.integer(1, min(2, b[x].dim())) :])
    w = b.new(shape, b[x].dtype, "generic") if b.chance(60) else None
    bias = b.new(shape, b[x].dtype, "generic") if w and b.chance(60) else None
    return f"F.layer_norm({x}, {shape}, {w}, {bias})"


@NORMALIZATIONS.add()
def rms_norm(b: Builder) -> str:
    x = _floats(b, 1, 4)
    shape = tuple(b[x].shape[-1:])
    w = b.new(shape, b[x].dtype, "generic") if b.chance(60) else None
    return f"F.rms_norm({x}, {shape}, {w}, eps=1e-5)"


@NORMALIZATIONS.add()
def group_norm(b: Builder) -> str:
    x = _varied(b, 3, 4)
    channels = b[x].shape[1]
    groups = b.pick(*(g for g in range(1, channels + 1) if channels % g == 0))
    w = b.new((channels,), b[x].dtype, "generic") if b.chance(60) else None
    return f"F.group_norm({x}, {groups}, {w})"


@NORMALIZATIONS.add()
def batch_norm(b: Builder) -> str:
    x = _floats(b, 2, 4)
    shape, dtype = (b[x].shape[1],), b[x].dtype
    mean, variance = b.new(shape, dtype, "small"), b.new(shape, dtype, "positive")
    w = b.new(shape, dtype, "generic") if b.chance(50) else None
    return f"F.batch_norm({x}, {mean}, {variance}, {w})"


@NORMALIZATIONS.add()
def instance_norm(b: Builder) -> str:
    return f"F.instance_norm({_varied(b, 3, 4)})"


@NORMALIZATIONS.add()
def unit_length(b: Builder) -> str:
    x = _floats(b, 1, 4)
    return f"F.normalize({x}, p={b.pick(2, 1)}, dim={b.axis(x)}, eps=1e-3)"


@NORMALIZATIONS.add()
def attention(b: Builder) -> str:
    dtype = b.pick(*FLOATS)
    heads, depth, queries, keys = b.pick(1, 2), b.pick(4, 8, 3), b.integer(1, 5), b.integer(1, 6)
    q, k, v = (b.new((1, heads, n, depth), dtype, "generic") for n in (queries, keys, keys))
    if b.chance(30):
        mask = f", attn_mask={b.new((queries, keys), dtype, 'small')}"
    else:
        mask = b.pick("", ", is_causal=True", ", scale=0.3")
    return f"F.scaled_dot_product_attention({q}, {k}, {v}{mask})"


@NORMALIZATIONS.add()
def loss(b: Builder) -> str:
    x = _floats(b, 1, 3)
    y = b.new(b[x].shape, b[x].dtype, "small")
    name = b.pick("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "kl_div")
    reduction = b.pick("mean", "sum", "none")
    return f"F.{name}({x}, {y}, reduction='{reduction}')"


@NORMALIZATIONS.add()
def classification_loss(b: Builder) -> str:
    import torch

    x = _floats(b, 2, 2)
    classes = list(range(b[x].shape[1]))
    target = b.new(b[x].shape[:1], torch.int64, "small", classes)
    smoothing = b.pick("", ", label_smoothing=0.1", ", reduction='sum'", ", ignore_index=0")
    return f"F.cross_entropy({x}, {target}{smoothing})"


@NORMALIZATIONS.add()
def similarity(b: Builder) -> str:
    x = _floats(b, 2, 3)
    y = b.new(b[x].shape, b[x].dtype, "generic")
    return b.pick(f"F.cosine_similarity({x}, {y}, dim=-1)", f"F.pairwise_distance({x}, {y})")


@NORMALIZATIONS.add()
def gated(b: Builder) -> str:
    x = b.tensor(FLOATS, (1, 4))
    axis = b.axis(x)
    if b[x].shape[axis] % 2:
        raise Skip
    return f"F.glu({x}, {axis})"
