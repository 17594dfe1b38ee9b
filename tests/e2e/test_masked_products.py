"""Matrix products beside tensors of booleans, on IREE with data tiling.

IREE 3.13 does not compile most of them with data tiling (pipelines/iree/boolean_bytes.py). The
preset was then given up, so the tests also check which preset was used.
"""

from dataclasses import replace

import pytest
import torch
from torch import nn

import unmess
from pipelines.iree import presets

FLAGS = torch.tensor([True, False, True, True, False, True] * 4)


class Masked(nn.Module):
    """A function of a product's operands and masks. The sizes are no multiples of tiles."""

    def __init__(self, function):
        super().__init__()
        self.function = function
        self.register_buffer("flags", FLAGS.clone())
        self.register_buffer("seen", torch.zeros(20, 24, dtype=torch.bool))

    def forward(self, *args):
        return self.function(self, *args)


def matrix(self, x, w, mask):
    return torch.where(mask, x @ w, 0.0)


def row(self, x, w, mask):
    return torch.where(mask[0], x @ w, 0.0), torch.where(mask[0, 0], x @ w, 1.0)


def column(self, x, w, mask):
    return (x.reshape(4, 5, 33) @ w).masked_fill(~mask[:, 0].reshape(4, 5, 1), -torch.inf)


def factor(self, x, w, mask):
    return ((x @ w) * mask / 0.5) @ w.T


def several(self, x, w, mask):
    return torch.where(mask & self.flags | mask[:, :1], x @ w, 1.0), mask, ~mask


def shared(self, x, w, mask):
    found = (x[:, :24, None] > w[:2].T).any(-1)
    for _ in range(2):
        x = torch.where(found, x @ w, 0.0) @ w.T
    return x, found, found.sum()


def moved(self, x, w, mask):
    columns = torch.cat([mask.T[:12], ~mask.T[3:9].roll(1, 0), mask.T[2:8]]).T
    return torch.where(columns, x @ w, 0.0), torch.where(mask.flatten().view(24, 20).T, x @ w, 2.0)


def updated(self, x, w, mask):
    places = mask.index_put((torch.tensor([1, 3]),), torch.tensor(True))
    return torch.where(places, x @ w, 0.0), places


def constant(self, x, w, mask):
    triangle = torch.ones(20, 24, dtype=torch.bool).tril()
    return torch.where(triangle, x @ w, 0.0), torch.where(FLAGS, x @ w, 0.0)


def result(self, x, w, mask):
    return (x @ w > 0) ^ mask, (x @ w).isfinite() & mask


def state(self, x, w, mask):
    self.seen.logical_or_(mask)
    return torch.where(self.seen, x @ w, 0.0)


def narrow(self, x, w, mask):
    return torch.where(mask, x.bfloat16() @ w.bfloat16(), 0.0)


def integers(self, x, w, mask):
    x, w = x.nan_to_num(posinf=3.0).int(), w.int()
    return torch.where(mask, x @ w, 7)


def attention(self, x, w, mask):
    keys, mask = torch.cat([x, x, x]).expand(2, 60, 33), mask[:3].expand(20, 3, 24).flatten()
    mask = mask[:120].view(2, 1, 60), mask[:1440].repeat(5).view(2, 60, 60)
    mixed = (keys @ keys.mT).masked_fill(~mask[0], -torch.inf).softmax(-1) @ keys
    return torch.where(mask[1], mixed @ keys.mT, -1e9).softmax(-1) @ keys


def branch(self, x, w, mask):
    def masked(x):
        return torch.where(mask, x @ w, 0.0).contiguous()

    return torch.cond(mask.any(), masked, lambda x: x @ w, (x,))


MODELS = [
    matrix,
    row,
    column,
    factor,
    several,
    shared,
    moved,
    updated,
    constant,
    result,
    state,
    narrow,
    integers,
    attention,
    branch,
]


def operands(rows=20):
    torch.manual_seed(0)
    # Products of small integers are exact in every order and dtype.
    x, w = torch.randint(-3, 4, (rows, 33)).float(), torch.randint(-3, 4, (33, 24)).float()
    x[3:5, 7] = torch.nan
    x[9:11, 2] = torch.inf
    return x, w, torch.rand(rows, 24) < 0.6


def masks():
    _, _, mask = operands()
    yield mask
    yield torch.zeros_like(mask)
    yield torch.ones_like(mask)
    # Other bytes than 0 and 1 are true. The elements are not adjacent.
    yield (mask.T.to(torch.uint8) * 254).contiguous().view(torch.bool).T


@pytest.fixture(scope="module")
def programs():
    return unmess.combine(
        {model.__name__: unmess.capture(Masked(model), operands()) for model in MODELS}
    )


@pytest.fixture(scope="module")
def compiled(programs):
    return unmess.load(programs, on="iree-cpu")


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_masks(compiled, model):
    assert compiled.preset == "data-tiling"
    x, w, _ = operands()
    eager = Masked(model)
    for mask in masks():
        expected = eager(x, w, mask.clone())
        actual = compiled[model.__name__](x, w, mask)
        torch.testing.assert_close(actual, expected, equal_nan=True)


def test_with_a_dynamic_size():
    rows = {0: torch.export.Dim("rows", min=0)}
    program = unmess.capture(Masked(matrix), operands(), dynamic_shapes=((rows, None, rows),))
    run = unmess.load(program, on="iree-cpu")
    assert run.preset == "dynamic-tiles"
    for count in (20, 12, 0):
        x, w, mask = (each[:count] if each.shape[0] == 20 else each for each in operands())
        torch.testing.assert_close(run(x, w, mask), matrix(None, x, w, mask), equal_nan=True)


@pytest.mark.parametrize("sizes", [(0, 33, 24), (20, 0, 24), (20, 33, 0)])
def test_without_elements(sizes):
    rows, inner, columns = sizes
    args = torch.ones(rows, inner), torch.ones(inner, columns), torch.ones(rows, columns).bool()
    run = unmess.load(unmess.capture(Masked(matrix), args), on="iree-cpu")
    torch.testing.assert_close(run(*args), matrix(None, *args))


def test_iree_still_rejects_masks_with_data_tiling(monkeypatch, tmp_path):
    """If this fails, IREE is fixed: remove `boolean_bytes.py`, and the limit from docs/iree.md."""
    monkeypatch.setenv("UNMESS_CACHE", str(tmp_path / "cache"))
    preset = replace(presets.PRESETS["data-tiling"], steps=())
    monkeypatch.setitem(presets.PRESETS, "data-tiling", preset)
    run = unmess.load(unmess.capture(Masked(matrix), operands()), on="iree-cpu")
    assert run.preset == "plain"
    assert any("expected padding_value has 'i8' but got: 'i1'" in str(each) for each in run.notes)
