"""Random operators on the reference runner: the same in each process, and of their distribution.

The seed is the program's own, so that what is measured here never changes.
"""

import math

import pytest
import torch
import torch.nn.functional as F

import unmess

SHAPE = (100, 100)
COUNT = math.prod(SHAPE)


def draw(x):
    return {
        "uniform": torch.rand_like(x),
        "normal": torch.randn_like(x),
        "exponential": x.clone().exponential_(),
        "integers": torch.randint(0, 10, SHAPE),
        "bernoulli": torch.bernoulli(x + 0.3),
        "dropout": F.dropout(x + 1, 0.25, training=True),
    }


@pytest.fixture(scope="module")
def program():
    return unmess.capture(draw, (torch.zeros(SHAPE),))


@pytest.fixture(scope="module")
def samples(program):
    return unmess.load(program, on="reference")(torch.zeros(SHAPE))


DISTRIBUTIONS = {
    "uniform": lambda x: x,
    "normal": lambda x: (1 + torch.erf(x / math.sqrt(2))) / 2,
    "exponential": lambda x: 1 - torch.exp(-x),
}


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_kolmogorov_smirnov(name, samples):
    """The largest distance to the distribution stays below that of one sample in a hundred."""
    x = samples[name].double().flatten().sort().values
    expected = DISTRIBUTIONS[name](x)
    place = torch.arange(COUNT + 1, dtype=torch.float64) / COUNT
    distance = torch.maximum((expected - place[:-1]).max(), (place[1:] - expected).max())
    assert distance < 1.63 / math.sqrt(COUNT)


@pytest.mark.parametrize("name", ["uniform", "normal"])
def test_neighbours_are_not_correlated(name, samples):
    x = samples[name].double()
    x = (x - x.mean()) / x.std()
    for rows, columns in ((0, 1), (1, 0), (1, 1)):
        correlation = (x[rows:, columns:] * x[: 100 - rows, : 100 - columns]).mean()
        assert abs(correlation) < 4 / math.sqrt(COUNT)


def test_frequencies(samples):
    """Within four standard deviations."""
    counts = torch.bincount(samples["integers"].flatten(), minlength=10)
    assert len(counts) == 10
    assert ((counts - COUNT / 10).abs() < 4 * math.sqrt(COUNT * 0.1 * 0.9)).all()
    for name, value, probability in (("bernoulli", 1, 0.3), ("dropout", 4 / 3, 0.75)):
        chosen = samples[name] != 0
        torch.testing.assert_close(
            samples[name][chosen], torch.full((int(chosen.sum()),), float(value))
        )
        deviation = math.sqrt(COUNT * probability * (1 - probability))
        assert abs(int(chosen.sum()) - COUNT * probability) < 4 * deviation


def test_reproducible(program, samples):
    """Each Executable begins with the same seed, and goes on with other numbers at each call."""
    run = unmess.load(program, on="reference")
    first, second = run(torch.zeros(SHAPE)), run(torch.zeros(SHAPE))
    for name, sample in samples.items():
        assert torch.equal(first[name], sample)
        assert not torch.equal(second[name], sample)
