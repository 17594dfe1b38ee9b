"""Counts, bags and searches of many elements, which no runner computes by comparing all pairs."""

import pytest
import torch
import torch.nn.functional as F

import unmess

NAN, INF = torch.nan, torch.inf
RUNNERS = pytest.mark.parametrize("runner", ["reference", "iree-cpu"])


def _assert_equal(function, args, runner, *calls, dynamic_shapes=None):
    """Compares a function with eager, with its example arguments and those of other calls."""
    program = unmess.capture(function, args, dynamic_shapes=dynamic_shapes)
    run = unmess.load(program, on=runner)
    for each in (args, *calls):
        torch.testing.assert_close(run(*each), function(*each), rtol=1e-5, atol=0, equal_nan=True)


def _searches(ordered, values):
    return (
        torch.searchsorted(ordered, values),
        torch.searchsorted(ordered, values, side="right", out_int32=True),
    )


@RUNNERS
def test_searches(runner):
    integers = torch.randint(0, 300, (1025,)).sort()[0]
    numbers = integers.float()
    infinite = torch.cat([torch.full((2,), -INF), numbers[4:], torch.tensor([INF, INF])])
    # NaN at the end of a sequence, as after a sort.
    with_nan = torch.cat([numbers[:1000], torch.full((25,), NAN)])
    special = torch.tensor([NAN, INF, -INF, -0.0, 0.0, 7.0, 7.5, 300.0, 1e30])
    values = torch.stack([special, special.flip(0)])
    calls = ((each, values) for each in (infinite, with_nan, torch.full((1025,), 7.0)))
    _assert_equal(_searches, (numbers, values), runner, *calls)
    _assert_equal(_searches, (integers, torch.arange(-2, 303)), runner)
    _assert_equal(_searches, (integers.to(torch.int16), torch.tensor(7).to(torch.int16)), runner)


@RUNNERS
def test_searches_in_sequences(runner):
    rows, values = torch.rand(2, 3, 1100), torch.rand(2, 3, 7)

    def search(x, y):
        return torch.searchsorted(x, y, sorter=x.argsort(-1), right=True)

    _assert_equal(search, (rows, values), runner)
    row = rows[1, 1].sort()[0].half()
    sizes = (None, {0: torch.export.Dim("n", min=1)})
    calls = (row, torch.rand(900).half()), (row, torch.rand(1).half())
    example = row, torch.rand(20).half()
    _assert_equal(_searches, example, runner, *calls, dynamic_shapes=sizes)
    _assert_equal(lambda x, y: torch.bucketize(y, x, right=True), (row, values.half()), runner)
    _assert_equal(lambda x: torch.searchsorted(x, 0.5), (row,), runner)


@RUNNERS
def test_search_time(runner):
    """A search of 200,000 values in 100,000 elements would need 20 billion comparisons."""
    ordered = torch.rand(100_000).sort()[0]
    _assert_equal(torch.searchsorted, (ordered, torch.rand(200_000)), runner)


@RUNNERS
def test_bincount(runner):
    def count(x, weights):
        return (
            torch.bincount(x, minlength=40),
            torch.bincount(x),
            torch.bincount(x, weights, 3),
            torch.bincount(x.int(), weights.double()),
            torch.bincount(x.to(torch.uint8), (weights * 9).long()),
        )

    sizes = ({0: torch.export.Dim("n", min=1)},) * 2
    examples = torch.randint(0, 30, (9000,)), torch.randn(9000)
    calls = [(torch.randint(0, 100, (n,)), torch.randn(n)) for n in (1, 20, 20000)]
    _assert_equal(count, examples, runner, *calls, dynamic_shapes=sizes)
    special = torch.tensor([NAN, INF, -INF, -0.0])
    _assert_equal(torch.bincount, (torch.arange(4), special), runner)
    program = unmess.capture(lambda x: torch.bincount(x, minlength=9), (torch.arange(9000) % 7,))
    with pytest.raises(unmess.Error, match="negative"):
        unmess.load(program, on=runner)(torch.arange(9000) - 1)
    # Comparing all pairs would need a tensor of 100 GB.
    _assert_equal(
        lambda x: torch.bincount(x, minlength=100_000), (torch.arange(10**6) // 10,), runner
    )


@RUNNERS
def test_histc(runner):
    x = torch.cat([torch.randn(5000), torch.tensor([NAN, INF, -INF, 3.0, -3.0, -0.0])])

    def count(x):
        finite = x[:5000]
        return torch.histc(x, 100, -3, 3), torch.histc(finite, 99), torch.histc(finite * 0, 70)

    _assert_equal(count, (x,), runner)
    _assert_equal(count, (x.double(),), runner)


def _bags(table, indices, offsets, weights):
    offsets32, indices32 = offsets.int(), indices.int()
    last = torch.cat([offsets, torch.tensor([len(indices)])])
    return (
        *(F.embedding_bag(indices, table, offsets, mode=m) for m in ("sum", "mean", "max")),
        *(
            F.embedding_bag(indices, table, offsets, mode=m, padding_idx=2)
            for m in ("sum", "mean", "max")
        ),
        *(
            F.embedding_bag(indices, table, last, mode=m, include_last_offset=True)
            for m in ("sum", "mean", "max")
        ),
        F.embedding_bag(indices32, table, offsets32, mode="mean"),
        F.embedding_bag(indices, table, offsets, mode="sum", per_sample_weights=weights),
        F.embedding_bag(indices[:60].reshape(6, 10), table, mode="mean"),
    )


@RUNNERS
def test_embedding_bags(runner):
    table, weights = torch.randn(50, 3), torch.randn(600)
    indices = torch.randint(0, 50, (600,))
    # Empty bags at the beginning, in the middle and at the end.
    offsets = torch.tensor([0, 0, 1, 5, 5, 5, 300, 599, 600, 600])
    _assert_equal(_bags, (table, indices, offsets, weights), runner)
    # Large bags of rows with NaN. A maximum keeps NaN of the first row of a bag only.
    table[::7] = NAN
    table[3] = INF
    table[5] = -INF
    indices[:6] = torch.tensor([7, 1, 1, 0, 3, 2])
    _assert_equal(_bags, (table, indices, offsets, weights), runner)
    half = table.half(), indices, offsets
    _assert_equal(
        lambda *args: F.embedding_bag(args[1], args[0], args[2], mode="max"), half, runner
    )
