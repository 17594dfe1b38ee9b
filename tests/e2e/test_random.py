"""Tests of random operators: reproducible numbers, distributions, and output dialects.

The program contains its seed, so the statistics measured here never change.
"""

import math
from pathlib import Path

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


def draw_narrow(x):
    return torch.rand_like(x), x.clone().uniform_(), torch.randn_like(x), x.clone().normal_()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("runner", ["reference", "iree-cpu"])
def test_narrow_samples_are_finite_and_below_one(dtype, runner):
    x = torch.zeros(200, 500, dtype=dtype)
    run = unmess.load(unmess.capture(draw_narrow, (x,)), on=runner)
    for _ in range(5):
        *uniform, normal, normal_in_place = run(x)
        for samples in uniform:
            assert samples.min() >= 0 and samples.max() < 1
            assert abs(samples.float().mean() - 0.5) < 0.005
        for samples in (normal, normal_in_place):
            assert samples.isfinite().all()
            assert abs(samples.float().mean()) < 0.01 and abs(samples.float().std() - 1) < 0.01


DISTRIBUTIONS = {
    "uniform": lambda x: x,
    "normal": lambda x: (1 + torch.erf(x / math.sqrt(2))) / 2,
    "exponential": lambda x: 1 - torch.exp(-x),
}
DISTRIBUTIONS["normal of a mean"] = DISTRIBUTIONS["normal"]


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_kolmogorov_smirnov(name, samples):
    """The largest distance to the distribution is below the critical value at the 1% level."""
    x = samples[name].double().flatten().sort().values
    expected = DISTRIBUTIONS[name](x)
    place = torch.arange(COUNT + 1, dtype=torch.float64) / COUNT
    distance = torch.maximum((expected - place[:-1]).max(), (place[1:] - expected).max())
    assert distance < 1.63 / math.sqrt(COUNT)


@pytest.mark.parametrize("name", ["uniform", "normal"])
def test_neighbors_are_not_correlated(name, samples):
    x = samples[name].double()
    x = (x - x.mean()) / x.std()
    for rows, columns in ((0, 1), (1, 0), (1, 1)):
        correlation = (x[rows:, columns:] * x[: 100 - rows, : 100 - columns]).mean()
        assert abs(correlation) < 4 / math.sqrt(COUNT)


def test_frequencies(samples):
    """Frequencies are within four standard deviations of the expected ones."""
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
    """Frequencies are within four standard deviations of the expected ones.

    Without replacement, the second draw is among the other categories.
    """
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
    """Each number occurs once, few stay in place, and the order is not correlated with before."""
    order = samples["order"]
    places = torch.arange(1000)
    assert torch.equal(order.sort().values, places)
    assert (order == places).sum() < 8
    correlation = torch.corrcoef(torch.stack([order.double(), places.double()]))[0, 1]
    assert abs(correlation) < 4 / math.sqrt(1000)


def test_reproducible(program, samples):
    """Each Executable starts with the same seed. Each call draws other numbers."""
    run = unmess.load(program, on="reference")
    first, second = run(torch.zeros(SHAPE)), run(torch.zeros(SHAPE))
    for name, sample in samples.items():
        assert torch.equal(first[name], sample)
        assert not torch.equal(second[name], sample)


def draw_in_an_output_dialect(x):
    """Draws numbers that are exact in every dialect, and the difference of two draws."""
    return {
        "uniform": torch.rand_like(x) * 3 - 1,
        "half": torch.rand(SHAPE, dtype=torch.float16),
        "integers": torch.randint(-3, 7, SHAPE),
        "difference": torch.rand_like(x) - torch.rand_like(x),
        "bernoulli": torch.bernoulli(x + 0.3),
        "dropout": F.dropout(x + 1, 0.25, training=True),
    }


@pytest.mark.parametrize("runner", ["reference", "iree-cpu"])
def test_stablehlo_and_linalg_draw_the_same_numbers(runner):
    """`stablehlo.rng` has no seed, but each call draws other numbers than the one before."""
    x = torch.zeros(SHAPE)
    program = unmess.capture(draw_in_an_output_dialect, (x,))
    module = unmess.lower(program, to="stablehlo")
    assert "stablehlo.rng" in str(module)
    ours, theirs = unmess.load(module, on=runner), unmess.load(program, on=runner)
    calls = [(ours(x), theirs(x)) for _ in range(2)]
    for name in calls[0][0]:
        for our, their in calls:
            assert torch.equal(our[name], their[name])
        assert not torch.equal(calls[0][0][name], calls[1][0][name])
    # Calls advance the generator of their Executable, so both lock it or neither does.
    assert type(ours._one_by_one) is type(theirs._one_by_one)


class Noisy(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 4)
        self.dropout = torch.nn.Dropout(0.25)

    def forward(self, x):
        x = torch.relu(self.layer(x))
        return self.dropout(x)


NOISY = {
    "rand": lambda x: x + torch.rand(3, 4),
    "randn_like": lambda x: x + torch.randn_like(x),
    "normal": lambda x: torch.normal(x, 1.0),
    "bernoulli": lambda x: torch.bernoulli(x),
    "randint": lambda x: x + torch.randint(0, 9, (3, 4)),
    "dropout": Noisy().train(),
}


@pytest.mark.parametrize("name", NOISY)
def test_tosa_refuses_random_numbers(name):
    """torch-mlir would replace them by constants, which are the same at each call."""
    program = unmess.capture(NOISY[name], (torch.full((3, 4), 0.5),))
    with pytest.raises(
        unmess.Error, match="draws random numbers, which TOSA does not support"
    ) as e:
        unmess.lower(program, to="tosa")
    assert e.value.stage == "tosa" and "--to linalg" in e.value.hint
    file, line = e.value.where.rsplit(":", 1)
    assert file == __file__
    expected = "self.dropout(x)" if name == "dropout" else f'"{name}": '
    assert expected in Path(__file__).read_text().splitlines()[int(line) - 1]


@pytest.mark.parametrize("dialect", ["tosa", "stablehlo"])
def test_dropout_in_evaluation_mode_draws_nothing(dialect):
    model, x = Noisy().eval(), torch.randn(3, 4)
    run = unmess.load(unmess.lower(unmess.capture(model, (x,)), to=dialect), on="reference")
    torch.testing.assert_close(run(x), model(x))
