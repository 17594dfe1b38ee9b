"""Tests the choice of tokens. The options mean the same as in transformers' `generate`."""

import pytest
import torch

import unmess

LOGITS = torch.log(torch.tensor([[0.5, 0.2, 0.15, 0.1, 0.05]]))
NO_IDS = torch.empty(1, 0, dtype=torch.int64)


def frequencies(count=20_000, **options):
    choose = unmess.Sampling(seed=0, **options).chooser()
    chosen = choose(NO_IDS.expand(count, 0), LOGITS.expand(count, 5))
    assert chosen.shape == (count, 1)
    return torch.bincount(chosen.flatten(), minlength=5) / count


def test_the_most_likely_token_by_default():
    assert unmess.Sampling().greedy
    assert unmess.Sampling(temperature=0, top_k=3, seed=1).greedy
    assert unmess.Sampling().chooser()(NO_IDS, LOGITS).tolist() == [[0]]


@pytest.mark.parametrize(
    "options, expected",
    [
        ({"temperature": 1.0}, [0.5, 0.2, 0.15, 0.1, 0.05]),
        ({"temperature": 0.5}, [0.7692, 0.1231, 0.0692, 0.0308, 0.0077]),
        ({"top_k": 2}, [5 / 7, 2 / 7, 0, 0, 0]),
        ({"top_p": 0.6}, [5 / 7, 2 / 7, 0, 0, 0]),
        ({"top_k": 4, "top_p": 0.5}, [1, 0, 0, 0, 0]),
    ],
)
def test_tokens_have_their_probability(options, expected):
    # Five standard deviations.
    bound = 5 * 0.5 / 20_000**0.5
    assert (frequencies(**options) - torch.tensor(expected)).abs().max() < bound
    never = torch.tensor(expected) == 0
    assert not frequencies(**options)[never].any()


def test_a_seed_repeats_the_choices():
    options = {"temperature": 1.0}
    draws = [
        [int(choose(NO_IDS, LOGITS)) for _ in range(40)]
        for seed in (7, 7, 8)
        for choose in [unmess.Sampling(seed=seed, **options).chooser()]
    ]
    assert draws[0] == draws[1] != draws[2]


def test_each_of_several_texts_has_the_seed_plus_its_index():
    sampling = unmess.Sampling(temperature=1.0, seed=7)
    assert sampling.of_text(0) == sampling
    assert sampling.of_text(3) == unmess.Sampling(temperature=1.0, seed=10)
    assert unmess.Sampling(seed=2**64 - 1).of_text(2).seed == 1
    assert unmess.Sampling(top_k=3).of_text(2).seed is None


def test_without_a_seed_texts_differ():
    one, two = (unmess.Sampling(temperature=1.0).chooser() for _ in range(2))
    many = LOGITS.expand(100, 5)
    ids = NO_IDS.expand(100, 0)
    assert not torch.equal(one(ids, many), two(ids, many))


def test_repetition_penalty():
    choose = unmess.Sampling().chooser(penalty=4.0)
    assert choose(torch.tensor([[0]]), LOGITS).tolist() == [[1]]


@pytest.mark.parametrize(
    "name, value",
    [
        ("temperature", -0.1),
        ("temperature", 1e-45),
        ("temperature", 9.9e-6),
        ("temperature", float("nan")),
        ("temperature", float("inf")),
        ("top_k", 0),
        ("top_p", 0.0),
        ("top_p", 1.1),
        ("seed", 2**64),
        ("seed", -(2**63) - 1),
        ("seed", 99999999999999999999999),
    ],
)
def test_numbers_out_of_range(name, value):
    with pytest.raises(unmess.Error, match=f"{name} is {value}") as caught:
        unmess.Sampling(**{name: value})
    assert caught.value.stage == "usage"


@pytest.mark.parametrize(
    "options",
    [
        {"temperature": 1e-5},
        {"temperature": 1e30},
        {"top_k": 10**23},
        {"top_p": 1e-45},
        {"temperature": 1.0, "seed": 2**64 - 1},
        {"temperature": 1.0, "seed": -(2**63)},
    ],
)
def test_options_at_the_limits_of_their_range(options):
    # The logits of decoders are in the tens. These are larger.
    assert int(unmess.Sampling(**options).chooser()(NO_IDS, 1e3 * LOGITS)) in range(5)


def test_warns_of_a_seed_without_sampling():
    for options in ({}, {"temperature": 0.0, "top_k": 3}):
        (note,) = unmess.Sampling(seed=5, **options).notes
        assert "the seed has no effect" in str(note)
        assert not unmess.Sampling(**options).notes
    assert not unmess.Sampling(seed=5, top_k=3).notes
