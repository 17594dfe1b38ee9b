"""Tensors that are computed from no other tensor, such as `torch.arange(n)`, on IREE.

IREE 3.13 updates, scans and reduces some of them wrongly (pipelines/iree/constant_operands.py). The
results are compared with eager, with a dynamic size and with a size that IREE does not fold.
"""

import functools

import pytest
import torch

import unmess
from pipelines.iree import compiler
from pipelines.pipeline import Step


def numbers(x):
    return 5.0 - torch.arange(x.shape[0])


def element(i, *tensors):
    """Reads an element of each tensor, at an index that the host has to know."""
    k = i[0].item()
    torch._check(k >= 0)
    torch._check(k < tensors[0].shape[0])
    return tuple(tensor[k] for tensor in tensors)


def put(x, i):
    y = numbers(x)
    return element(i, y.index_put((i,), torch.ones(2)), y)


def put_into_zeros(x, i):
    y = torch.zeros_like(x)
    return element(i, y.index_put((i,), torch.ones(2)), y)


def put_twice(x, i):
    y = numbers(x)
    return element(i, y.index_put((i,), torch.ones(2)), y.index_put((i,), torch.zeros(2)), y)


def add(x, i):
    y = numbers(x)
    return element(i, y.scatter_add(0, i, torch.ones(2)), y)


def put_slice(x, i):
    y = numbers(x)
    return element(i, y.slice_scatter(torch.ones(3), 0, 2, 5), y)


def sort(x, i):
    y = numbers(x)
    return element(i, y.sort(0)[0], y)


def sort_ones(x, i):
    y = torch.ones_like(x)
    return element(i, y.sort(0)[0], y)


def median_of_ones(x, i):
    return torch.ones_like(x).median(), torch.ones_like(x).nanmedian()


def largest_of_ones(x, i):
    # Only the values: all elements are equal, so any indices are right.
    return (torch.ones_like(x).topk(2)[0],)


def running_sums(x, i):
    n = torch.arange(x.shape[0])
    return (n - n).cumsum(0), torch.ones_like(x).cumsum(0)


def reductions(x, i):
    sevens = torch.full((x.shape[0], 3), 7.0)
    return sevens.norm(), sevens.sum(0), sevens.max(), (sevens > 0).sum()


def scatter_at_zero(x, i):
    # Only IREE's compiler finds that the index is a constant.
    return (x.scatter(0, (i % 1)[:1], 2.0),)


def put_and_read(x, i):
    y = numbers(x)
    return y.index_put((i,), torch.ones(2))[i + 1], y[i]


MODELS = [
    scatter_at_zero,
    put,
    put_into_zeros,
    put_twice,
    add,
    put_slice,
    sort,
    sort_ones,
    median_of_ones,
    largest_of_ones,
    running_sums,
    reductions,
]


DYNAMIC = {"x": {0: torch.export.Dim("n", min=8)}, "i": None}


class _Model(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x, i):
        return self.function(x, i)


@pytest.fixture(scope="module")
def compiled():
    """All models as entry points of one module, with a dynamic number of elements."""
    programs = {model.__name__: captured(model) for model in MODELS}
    return unmess.load(unmess.combine(programs), on="iree-cpu")


@functools.cache
def captured(model):
    inputs = torch.zeros(10), torch.tensor([3, 7])
    return unmess.capture(_Model(model), inputs, dynamic_shapes=DYNAMIC)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_with_a_dynamic_size(compiled, model):
    inputs = torch.rand(100), torch.tensor([3, 7])
    torch.testing.assert_close(compiled[model.__name__](*inputs), tuple(model(*inputs)))


NOT_FOLDED = torch.zeros(300_000), torch.tensor([3, 7])


@pytest.fixture(scope="module")
def compiled_with_a_size():
    programs = {
        model.__name__: unmess.capture(_Model(model), NOT_FOLDED) for model in (put, put_slice)
    }
    return unmess.load(unmess.combine(programs), on="iree-cpu")


@pytest.mark.parametrize("model", [put, put_slice], ids=lambda model: model.__name__)
def test_with_a_size_that_is_not_folded(compiled_with_a_size, model):
    run = compiled_with_a_size[model.__name__]
    torch.testing.assert_close(run(*NOT_FOLDED), model(*NOT_FOLDED))


@pytest.mark.parametrize("model", [put_and_read, reductions], ids=lambda model: model.__name__)
def test_via_stablehlo(model):
    """The program is lowered to linalg, where the scatter is a loop."""
    program = unmess.capture(_Model(model), NOT_FOLDED)
    run = unmess.load(unmess.lower(program, to="stablehlo"), on="iree-cpu")
    torch.testing.assert_close(run(*NOT_FOLDED), model(*NOT_FOLDED))


@pytest.fixture
def iree_alone(monkeypatch, tmp_path):
    monkeypatch.setenv("UNMESS_CACHE", str(tmp_path / "cache"))
    nothing = Step("nothing", "change nothing", lambda module: None)
    monkeypatch.setattr(compiler, "HIDE_CONSTANTS", nothing)


@pytest.mark.usefixtures("iree_alone")
def test_iree_still_updates_constants_wrongly():
    """If this fails, IREE is fixed: remove the copies, and the limit from docs/iree.md."""
    inputs = torch.rand(100), torch.tensor([3, 7])
    _, read = unmess.load(captured(put), on="iree-cpu")(*inputs)
    assert read == 1
    assert put(*inputs)[1] == 2


@pytest.mark.usefixtures("iree_alone")
def test_iree_still_rejects_sorts_and_reductions_of_constants():
    """If this fails, IREE is fixed: remove the barriers, and the limit from docs/iree.md."""
    with pytest.raises(unmess.Error, match="stack"):
        unmess.load(captured(median_of_ones), on="iree-cpu")
