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
WEIGHTS = torch.tensor([1.0, 0.0, 3.0, 4.0])


def draw(x):
    return {
        "uniform": torch.rand_like(x),
        "normal": torch.randn_like(x),
        "exponential": x.clone().exponential_(),
        "integers": torch.randint(0, 10, SHAPE),
        "bernoulli": torch.bernoulli(x + 0.3),
        "normal of a mean": torch.normal(x, 1.0),
        "order": torch.randperm(1000),
        "drawn": torch.multinomial(WEIGHTS.expand(COUNT, 4), 2),
        "drawn again": torch.multinomial(WEIGHTS.expand(COUNT, 4), 2, replacement=True),
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
DISTRIBUTIONS["normal of a mean"] = DISTRIBUTIONS["normal"]


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


def test_categories(samples):
    """Within four standard deviations: the first draw by weight, the second among the others."""
    first, total = WEIGHTS / WEIGHTS.sum(), WEIGHTS.sum()
    rest = sum(
        first[i] * WEIGHTS.index_fill(0, torch.tensor(i), 0) / (total - WEIGHTS[i])
        for i in range(4)
    )
    for name, expected in (("drawn", (first, rest)), ("drawn again", (first, first))):
        assert samples[name].shape == (COUNT, 2)
        for column, probability in enumerate(expected):
            counts = torch.bincount(samples[name][:, column], minlength=4)
            deviation = (COUNT * probability * (1 - probability)).sqrt()
            assert ((counts - COUNT * probability).abs() <= 4 * deviation).all()
    assert (samples["drawn"][:, 0] != samples["drawn"][:, 1]).all()


def test_permutation(samples):
    """Each number once; few stay where they are, and neighbours are no neighbours any more."""
    order = samples["order"]
    places = torch.arange(1000)
    assert torch.equal(order.sort().values, places)
    assert (order == places).sum() < 8
    correlation = torch.corrcoef(torch.stack([order.double(), places.double()]))[0, 1]
    assert abs(correlation) < 4 / math.sqrt(1000)


def test_reproducible(program, samples):
    """Each Executable begins with the same seed, and goes on with other numbers at each call."""
    run = unmess.load(program, on="reference")
    first, second = run(torch.zeros(SHAPE)), run(torch.zeros(SHAPE))
    for name, sample in samples.items():
        assert torch.equal(first[name], sample)
        assert not torch.equal(second[name], sample)
