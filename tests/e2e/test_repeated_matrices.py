"""Attention whose heads share keys and values multiplies with each of them once."""

import itertools

import pytest
import torch
import torch.nn.functional as F

import unmess

BATCH, SHARED, REPEATS, LENGTH, KEYS, SIZE = 2, 2, 3, 5, 7, 4


def fused(q, k, v, mask):
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, enable_gqa=True)


def expanded(q, k, v, mask):
    """As in the models of transformers."""
    k, v = (x[:, :, None].expand(-1, -1, REPEATS, -1, -1) for x in (k, v))
    k, v = (x.reshape(BATCH, SHARED * REPEATS, -1, SIZE) for x in (k, v))
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)


def interleaved(q, k, v, mask):
    k, v = (x.repeat_interleave(REPEATS, 1) for x in (k, v))
    scores = q @ k.mT * 0.3
    return (scores if mask is None else scores + mask.float()).softmax(-1) @ v


def other_order(q, k, v, mask):
    """Repeats all matrices instead of each one: the rows of a matrix are not next to each other."""
    k, v = (x[:, None].expand(-1, REPEATS, -1, -1, -1) for x in (k, v))
    k, v = (x.reshape(BATCH, SHARED * REPEATS, -1, SIZE) for x in (k, v))
    return (q @ k.mT).softmax(-1) @ v


def transposed(q, k, v, mask):
    """Multiplies with a transpose of the transpose, and by two numbers."""
    k, v = (x.mT.repeat_interleave(REPEATS, 1) * 0.5 for x in (k, v))
    return (q @ (k * 2).mT.mT).softmax(-1) @ v.mT


def arguments():
    random = torch.Generator().manual_seed(0)
    q = torch.randn(BATCH, SHARED * REPEATS, LENGTH, SIZE, generator=random)
    k, v = torch.randn(2, BATCH, SHARED, KEYS, SIZE, generator=random)
    return q, k, v, torch.randn(LENGTH, KEYS, generator=random)


def shapes(dynamic):
    length = torch.export.Dim("length", min=2) if dynamic == "length" else None
    keys = torch.export.Dim("keys", min=2) if dynamic == "keys" else None
    return {2: length}, {2: keys}, {2: keys}, {0: length, 1: keys}


MASKS = {"no": lambda _: None, "bool": lambda mask: mask > -0.5, "float": lambda mask: mask}


@pytest.mark.parametrize(
    "way, mask, dynamic",
    [
        *((fused, mask, size) for mask, size in zip(MASKS, ("keys", "no", "length"), strict=True)),
        *((expanded, mask, "no") for mask in MASKS),
        *((expanded, "bool", size) for size in ("length", "keys")),
        *((interleaved, "float", size) for size in ("no", "length", "keys")),
        *itertools.product((transposed, other_order), ["no"], ["no", "keys"]),
    ],
)
def test_equal_to_eager(way, mask, dynamic):
    q, k, v, numbers = arguments()
    args = (q, k, v, MASKS[mask](numbers))
    dynamic_shapes = shapes(dynamic) if dynamic != "no" else None
    if dynamic_shapes and mask == "no":
        dynamic_shapes = (*dynamic_shapes[:3], None)
    program = unmess.capture(way, args, dynamic_shapes=dynamic_shapes)
    is_rewritten = any("repeated matrices" in note.text for note in program.notes)
    assert is_rewritten == (way is not other_order)
    expected = way(*args)
    for runner in ("reference", "iree-cpu"):
        torch.testing.assert_close(unmess.load(program, on=runner)(*args), expected)


def test_copies_are_not_written():
    q, k, v, mask = arguments()
    for way in (fused, expanded, interleaved):
        text = str(unmess.lower(unmess.capture(way, (q, k, v, mask))).ir)
        repeated = f"{BATCH}x{SHARED * REPEATS}x{KEYS}x{SIZE}"
        assert repeated not in text
        assert f"{BATCH}x{SHARED}x{REPEATS}x{KEYS}x{SIZE}" not in text
