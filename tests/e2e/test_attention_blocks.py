"""Large attention, which both CPU runners compute in blocks of rows."""

import pytest
import torch
from torch.nn import functional as F

import unmess
from pipelines.attention_blocks import compute_blocks_in_order
from pipelines.ir.modules import find_operations

# Scores of 8 heads: 32 MB in f32.
HEADS, ROWS = 8, 1024


def masked(q, k, v, mask, bias):
    return F.scaled_dot_product_attention(q, k, v, mask)


def with_bias(q, k, v, mask, bias):
    return F.scaled_dot_product_attention(q, k, v, bias)


def causal(q, k, v, mask, bias):
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def shared_keys(q, k, v, mask, bias):
    return F.scaled_dot_product_attention(q, k[:, :2], v[:, :2], enable_gqa=True)


def of_itself(q, k, v, mask, bias):
    """One tensor is the queries, the keys and the values."""
    return torch.softmax(q[0] @ q[0].mT, -1) @ q[0]


def across(q, k, v, mask, bias):
    """More keys than queries, and windows: the first axis has 4 batches."""
    queries, keys, values = (each.reshape(4, 2, ROWS, 8) for each in (q, k, v))
    keys, values = (torch.cat([each, each[..., :476, :]], -2) for each in (keys, values))
    return torch.softmax((queries @ keys.mT) / 3, -1) @ values


def two_softmaxes(q, k, v, mask, bias):
    """Heads with a temperature each, and scores that are normalized twice."""
    scores = q[0] @ k[0].mT * torch.arange(1, HEADS + 1)[:, None, None] / 16
    return torch.softmax(torch.softmax(scores, -1) * 3, -1) @ v[0]


def in_f64(q, k, v, mask, bias):
    return masked(q.double(), k.double(), v.double(), mask, bias)


def one_head(q, k, v, mask, bias):
    """No batch, and a number of rows that is three times a prime."""
    rows = torch.cat([q[0, each] for each in range(4)])[:3021]
    return torch.softmax(rows @ rows.T, -1) @ rows


def in_bf16(q, k, v, mask, bias):
    return F.scaled_dot_product_attention(q.bfloat16(), k.bfloat16(), v.bfloat16())


MODELS = (
    masked,
    with_bias,
    causal,
    shared_keys,
    of_itself,
    across,
    two_softmaxes,
    in_f64,
    one_head,
    in_bf16,
)


def inputs() -> tuple[torch.Tensor, ...]:
    """Returns queries, keys, values, a mask with an empty row, and an infinite bias."""
    generator = torch.Generator().manual_seed(0)
    q, k, v = (torch.randn(1, HEADS, ROWS, 8, generator=generator) for _ in range(3))
    mask = torch.rand(ROWS, ROWS, generator=generator) < 0.3
    mask[5] = False
    bias = torch.randn(ROWS, ROWS, generator=generator)
    bias[7, :900] = -torch.inf
    return q, k, v, mask, bias


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_all_are_computed_in_blocks(model):
    module = unmess.lower(unmess.capture(model, inputs()), "linalg")
    compute_blocks_in_order(module.ir)
    assert module.ir.operation.verify()
    assert len(find_operations(module.ir, lambda each: each.name == "scf.for")) == 1


@pytest.mark.parametrize("runner", ["reference", "iree-cpu"])
def test_blocks_compute_what_eager_computes(runner):
    def model(*args):
        return [each(*args) for each in MODELS]

    report = unmess.check(unmess.capture(model, inputs()), on=runner, calls=1)
    assert report.ok, report.error
