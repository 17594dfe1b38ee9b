"""Runners raise for values that eager refuses, and match eager for all others.

For some values, eager itself reads or writes out of bounds (`UNCHECKED`). For these, runners must
raise.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch.utils import _pytree as pytree

import unmess

RUNNERS = ("reference", "iree-cpu")
NAN, INF = torch.nan, torch.inf
# The expected error of calls for which eager has no defined result.
UNCHECKED = "eager reads or writes foreign memory"


@dataclass(frozen=True)
class Case:
    """An operator, the arguments of its capture, and those of its calls."""

    function: Callable[..., Any]
    example: tuple
    calls: tuple[tuple, ...]
    unchecked: bool = False


CASES: dict[str, Case] = {}


def case(name, function, example, *calls, unchecked=False):
    """Adds a case. Each call is a tuple of arguments. If `unchecked`, eager accepts bad values."""
    CASES[name] = Case(function, example, calls, unchecked)


def ints(*values):
    return torch.tensor(values, dtype=torch.int64)


def floats(*values):
    return torch.tensor(values, dtype=torch.float32)


X = torch.arange(1.0, 13.0).reshape(3, 4)
MASK = X > 9
case(
    "masked_scatter",
    lambda x, mask, source: x.masked_scatter(mask, source),
    (X, MASK, floats(1, 2, 3)),
    *((X, mask, floats(1, 2, 3)) for mask in (X > 0, X > 8, X > 9, X > 10, X > 99)),
)
case(
    "masked_scatter rows",
    lambda x, mask, source: x.masked_scatter(mask, source),
    (X, MASK[:, :1], X[:1]),
    *((X, torch.tensor(mask)[:, None], X[:1]) for mask in ([True] * 3, [False, True, False])),
)
case(
    "masked_scatter of nothing",
    lambda x, mask, source: x.masked_scatter(mask, source),
    (X, X > 99, X[:0]),
    (X, X > 99, X[:0]),
    (X, X > 9, X[:0]),
)
case(
    "one_hot",
    lambda x: F.one_hot(x, 5),
    (ints(0, 4),),
    *((ints(*classes),) for classes in ((3, 0), (5, 0), (0, -1), (2**62, 0), (-(2**63), 1))),
)
case(
    "one_hot of counted classes",
    F.one_hot,
    (ints(0, 4),),
    *((ints(*classes),) for classes in ((3, 0), (0, 0), (0, -1), (2**62, 0), (-(2**63), 1))),
)
TABLE = torch.randn(5, 3, generator=torch.Generator().manual_seed(0))
for mode in ("sum", "mean", "max"):
    case(
        f"embedding_bag {mode}",
        functools.partial(F.embedding_bag, mode=mode),
        (ints(0, 1, 2, 3), TABLE, ints(0, 2)),
        *(
            (ints(0, 1, 2, 3), TABLE, ints(*offsets))
            for offsets in ((0, 0), (0, 4), (0, 5), (1, 2), (0, 2**40))
        ),
    )
    case(
        f"embedding_bag {mode} in no order",
        functools.partial(F.embedding_bag, mode=mode),
        (ints(0, 1, 2, 3), TABLE, ints(0, 2, 3)),
        *((ints(0, 1, 2, 3), TABLE, ints(*offsets)) for offsets in ((0, 3, 2), (0, -1, 2))),
        unchecked=True,
    )
case(
    "embedding_bag with the last offset",
    functools.partial(F.embedding_bag, mode="sum", include_last_offset=True),
    (ints(0, 1, 2, 3), TABLE, ints(0, 2, 4)),
    *((ints(0, 1, 2, 3), TABLE, ints(*offsets)) for offsets in ((0, 2, 3), (0, 2, 9), (1, 2, 4))),
)
case(
    "repeat_interleave",
    lambda x, counts: torch.repeat_interleave(x, counts, output_size=5),
    (floats(1, 2), ints(2, 3)),
    *((floats(1, 2), ints(*counts)) for counts in ((0, 5), (5, 0), (4, 1))),
)
case(
    "repeat_interleave without a size",
    torch.repeat_interleave,
    (floats(1, 2), ints(2, 3)),
    *((floats(1, 2), ints(*counts)) for counts in ((0, 5), (0, 0), (1, 7), (-1, 6), (2, -3))),
)
case(
    "repeat_interleave of other counts",
    lambda x, counts: torch.repeat_interleave(x, counts, output_size=5),
    (floats(1, 2), ints(2, 3)),
    *((floats(1, 2), ints(*counts)) for counts in ((2, 2), (2, 4), (-1, 6), (0, 0))),
    unchecked=True,
)
GRID = floats(NAN, INF, -INF, 0.0, -0.0, 0.3, -1, 1, 3, 1e6)
PLACES = torch.stack(torch.meshgrid(GRID, GRID, indexing="ij"), -1)[None]
for mode in ("bilinear", "nearest", "bicubic"):
    for padding in ("zeros", "border", "reflection"):
        case(
            f"grid_sample {mode} {padding}",
            functools.partial(F.grid_sample, mode=mode, padding_mode=padding, align_corners=False),
            (X[None, None], PLACES),
            (X[None, None], PLACES),
        )


def asserted(x):
    torch._assert_async((x >= 0).all(), "negative")
    return x + 1


def asserted_number(x):
    torch._assert_async(x[0])
    return x + 1


for function in (asserted, asserted_number):
    case(function.__name__, function, (floats(1, 2),), (floats(0, 2),), (floats(NAN, -1),))
case(
    "integer division",
    lambda a, b: (a // b, a % b, torch.fmod(a, b), torch.div(a, b, rounding_mode="trunc")),
    (ints(7, -7), ints(2, 2)),
    *((ints(7, -7), ints(*divisors)) for divisors in ((-2, 3), (0, 2), (2, 0))),
)
case(
    "power",
    lambda a, b: a**b,
    (ints(7, -1, 1, 0), ints(2, 3, 4, 5)),
    *((ints(7, -1, 1, 0), ints(*e)) for e in ((-1, -1, -1, 0), (64, 63, 62, 0))),
)


def indexed(name, function, *rest, good, bad):
    """Adds a case of an operator whose first operand is X and whose second one has indices."""
    case(name, function, (X, ints(*good[0]), *rest), *((X, ints(*i), *rest) for i in good + bad))


CLASSES = [(0, 1, 2), (0, -100, 2)]
NO_CLASSES = [(0, 4, 1), (0, -1, 1), (0, 2**40, 1)]
indexed("cross_entropy", F.cross_entropy, good=CLASSES, bad=NO_CLASSES)
indexed("nll_loss", F.nll_loss, good=CLASSES, bad=NO_CLASSES)
indexed(
    "nll_loss of each",
    functools.partial(F.nll_loss, reduction="none"),
    good=CLASSES,
    bad=NO_CLASSES,
)
indexed("take", torch.take, good=[(0, 11), (-12, 3)], bad=[(12, 0), (-13, 0)])
indexed("gather", lambda x, i: x.gather(1, i[:, None]), good=CLASSES[:1], bad=NO_CLASSES)
indexed("scatter", lambda x, i, s: x.scatter(1, i[:, None], s), X, good=CLASSES[:1], bad=NO_CLASSES)
ROWS, NO_ROWS = [(0, 2), (2, 2)], [(3, 0), (-1, 0), (2**40, 0)]
indexed("index_select", lambda x, i: x.index_select(0, i), good=ROWS, bad=NO_ROWS)
indexed("index_add", lambda x, i, s: x.index_add(0, i, s), X[:2], good=ROWS, bad=NO_ROWS)
indexed("index_copy", lambda x, i, s: x.index_copy(0, i, s), X[:2], good=ROWS, bad=NO_ROWS)
indexed(
    "index_fill",
    lambda x, i: x.index_fill(0, i, 0.5),
    good=[(0, 2), (2, 2), (-1, 0)],
    bad=[(3, 0), (-4, 0)],
)
indexed(
    "max_unpool",
    lambda x, i: F.max_unpool1d(x[None], i.expand(1, 3, 4), 2),
    good=[(0, 2, 4, 6), (1, 3, 5, 7)],
    bad=[(0, 8, 1, 2), (0, -1, 1, 2)],
)
indexed("a row", lambda x, i: x[i[0].item()], good=[(1,), (-1,)], bad=[(3,), (-4,)])
case("embedding", F.embedding, (ints(0, 4), TABLE), *((ints(0, i), TABLE) for i in (4, 5, -1)))
case(
    "bincount",
    lambda x: torch.bincount(x, minlength=4).sum(),
    (ints(0, 3),),
    *((ints(*values),) for values in ((1, 1), (-1, 2), (2**62, 0))),
)
case("histc", lambda x: torch.histc(x, 4, 0, 10), (X,), (X * NAN,), (X * 9,), (-X,), (X / 0,))
case(
    "bucketize",
    torch.bucketize,
    (X, floats(1, 5, 9)),
    *((x, floats(1, 5, 9)) for x in (X * NAN, X / 0, -X / 0)),
)
case(
    "multinomial",
    lambda weights: torch.multinomial(weights, 1) * 0,
    (floats(1, 2),),
    *((floats(*w),) for w in ((0, 1), (0, 0), (-1, 2), (NAN, 1), (INF, 1))),
)
case(
    "bernoulli",
    lambda p: torch.bernoulli(p) * 0,
    (floats(0.5, 1),),
    *((floats(*p),) for p in ((0, 1), (-0.1, 1), (1.1, 0), (NAN, 1))),
)
case(
    "poisson",
    lambda rate: torch.poisson(rate) * 0,
    (floats(0, 0.5),),
    *((floats(*rate),) for rate in ((0, 20), (-0.1, 1), (NAN, 1))),
)
case(
    "binary_cross_entropy",
    F.binary_cross_entropy,
    (floats(0.5, 0.1), floats(0, 1)),
    *((floats(*p), floats(0, 1)) for p in ((0, 1), (1, 0), (1.5, 0), (-0.5, 0), (NAN, 0))),
)
for name, function in {"arange": torch.arange, "zeros": torch.zeros}.items():
    case(
        f"{name} of data",
        lambda count, function=function: function(count.item()).sum(),
        (torch.tensor(3),),
        *((torch.tensor(count),) for count in (0, 1, -1, 2**61, 2**62, -(2**62))),
    )
case(
    "matrix of data",
    lambda x, count: x.new_full((x.shape[0], count.item()), 2).sum(),
    (X, torch.tensor(3)),
    *((X, torch.tensor(count)) for count in (0, 1, -1, 2**60, 2**61, 2**62)),
)
case(
    "booleans and integers",
    lambda a, b: (a < b, a <= b, a > b, a >= b, a == b, a != b, torch.where(a < b, a, b)),
    (torch.tensor([True, False, True]), ints(1, -2, 3)),
    (torch.tensor([True, False, False]), ints(-1, 2, 0)),
)


class _Call(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *args):
        return self.function(*args)


@functools.cache
def captured():
    """Returns all cases as one program, with an entry point for each one."""
    programs = {
        _entry(name): unmess.capture(_Call(case.function), case.example)
        for name, case in CASES.items()
    }
    return unmess.combine(programs, "hostile")


@functools.cache
def loaded(runner):
    """Returns all cases, compiled together."""
    return unmess.load(captured(), on=runner)


def _entry(name):
    return name.replace(" ", "_")


@pytest.mark.parametrize("runner", RUNNERS)
@pytest.mark.parametrize("name", CASES)
def test_as_in_eager(name, runner):
    case, run = CASES[name], loaded(runner)[_entry(name)]
    refused = 0
    for args in case.calls:
        try:
            if case.unchecked:
                raise RuntimeError(UNCHECKED)
            expected = case.function(*args)
        except (IndexError, RuntimeError):
            refused += 1
            with pytest.raises(unmess.Error) as caught:
                run(*args)
            assert caught.value.stage == "run", str(caught.value)
        else:
            for ours, theirs in zip(
                pytree.tree_leaves(run(*args)), pytree.tree_leaves(expected), strict=True
            ):
                torch.testing.assert_close(ours, theirs, equal_nan=True)
    assert refused or name in _NEVER_REFUSED


case(
    "inverse",
    torch.linalg.inv,
    (torch.tensor([[2.0, 1.0], [0.0, 3.0]]),),
    *(
        (torch.tensor(matrix),)
        for matrix in ([[1.0, 0.0], [0.0, 4.0]], [[1.0, 2.0], [2.0, 4.0]], [[0.0, 0.0], [0.0, 0.0]])
    ),
)
case(
    "segment_reduce",
    lambda x, lengths: torch.segment_reduce(x, "sum", lengths=lengths),
    (X[0], ints(2, 2)),
    *((X[0], ints(*lengths)) for lengths in ((1, 3), (4, 0), (0, 0), (3, 3), (5, -1), (2**40, 2))),
)
case(
    "ctc_loss",
    lambda x, classes, lengths, counts: F.ctc_loss(
        x.log_softmax(-1), classes, lengths, counts, reduction="none"
    ),
    (X[:, None], ints(1, 2)[None], ints(3), ints(2)),
    *(
        (X[:, None], ints(1, 2)[None], ints(length), ints(count))
        for length, count in ((3, 1), (2, 2), (1, 2), (3, 0), (4, 2), (3, 3), (3, -1), (-1, 2))
    ),
)

# Eager accepts every value of these cases.
_NEVER_REFUSED = {"power", "histc", "bucketize", "booleans and integers", "repeat_interleave"} | {
    name for name in CASES if name.startswith("grid_sample")
}
