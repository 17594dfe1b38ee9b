"""Attention with scores so low that their weights are subnormal numbers."""

import pytest
import torch
from torch.nn import functional as F

import unmess
from pipelines.ir.modules import find_operations
from pipelines.reference.steps.attention_weights import clear_small_weights

LEAST_NORMAL = 2.0**-126


def windows(q, k, v, bias):
    return torch.softmax(q @ k.mT + bias, -1) @ v


def fused(q, k, v, bias):
    return F.scaled_dot_product_attention(q[None], k[None], v[None], bias)


def without_maximum(q, k, v, bias):
    """All exponentials are subnormal, and many of their quotients are not."""
    exponentials = torch.exp(q @ k.mT / 4 + bias / 50 - 94)
    return exponentials / exponentials.sum(-1, keepdim=True) @ v


def inputs():
    """Returns queries, keys, values, and a bias of -100 for half of the scores."""
    generator = torch.Generator().manual_seed(0)
    q, k, v = (torch.randn(6, 49, 32, generator=generator) / 4 for _ in range(3))
    bias = torch.where(torch.rand(49, 49, generator=generator) < 0.5, -100.0, 0.0)
    return q, k, v, bias


@pytest.mark.parametrize("model", [windows, fused, without_maximum], ids=lambda each: each.__name__)
def test_subnormal_weights_are_replaced(model):
    module = unmess.lower(unmess.capture(model, inputs()), "linalg")
    clear_small_weights(module.ir)
    assert module.ir.operation.verify()
    limits = find_operations(
        module.ir,
        lambda each: each.name == "arith.constant" and "1.17549435E-38" in str(each),
    )
    assert len(limits) == 1


def test_quotients_by_other_reductions_stay():
    """All quotients by a product of many exponentials can be small."""

    def model(q, k, v, bias):
        exponentials = torch.exp(q @ k.mT)
        return exponentials / exponentials.prod(-1, keepdim=True) @ v

    module = unmess.lower(unmess.capture(model, inputs()), "linalg")
    before = str(module.ir)
    clear_small_weights(module.ir)
    assert str(module.ir) == before


@pytest.mark.parametrize("model", [windows, fused, without_maximum], ids=lambda each: each.__name__)
def test_results_are_those_of_eager(model):
    args = inputs()
    result = unmess.load(unmess.capture(model, args), on="reference")(*args)
    # With subnormal exponentials, eager's own quotients are exact to a few digits only.
    rtol, atol = (1e-3, 1e-4) if model is without_maximum else (1e-5, 1e-6)
    torch.testing.assert_close(result, model(*args), rtol=rtol, atol=atol)


def test_weights_that_the_program_returns_are_subnormal():
    def model(q, k, v, bias):
        weights = torch.softmax(q @ k.mT + bias, -1)
        return weights @ v, weights

    args = inputs()
    _, weights = unmess.load(unmess.capture(model, args), on="reference")(*args)
    _, expected = model(*args)
    assert (weights[expected > 0] > 0).all()
    assert (weights[expected < LEAST_NORMAL] < LEAST_NORMAL).all()


def test_a_missing_weight_changes_a_result_by_less_than_the_least_normal_number():
    """The values of all tokens with a larger weight are 0."""
    q, k, v, bias = inputs()
    v = torch.where(bias[0, :, None] == 0, 0.0, 1e20).expand(6, 49, 32).contiguous()
    args = (q, k, v, bias)
    result = unmess.load(unmess.capture(windows, args), on="reference")(*args)
    # All other weights of the first row are subnormal.
    difference = (result - windows(*args))[:, 0].abs().max()
    assert difference < 49 * LEAST_NORMAL * 1e20
