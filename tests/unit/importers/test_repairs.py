import pytest
import torch

import unmess
from importers import repairs


def pooled(x):
    x = x.contiguous(memory_format=torch.channels_last)
    return torch.nn.functional.adaptive_avg_pool2d(x, 1) * 2


def test_layout_only_as_strided(monkeypatch):
    x = torch.randn(1, 4, 3, 3)
    program = unmess.capture(pooled, (x,))
    assert [str(note) for note in program.notes] == ["repair: layout-only as_strided (1 times)"]
    torch.testing.assert_close(unmess.load(program)(x), pooled(x))

    monkeypatch.setattr(repairs, "REPAIRS", ())
    with pytest.raises(unmess.Error, match="as_strided"):
        unmess.lower(unmess.capture(pooled, (x,)))


def test_as_strided_that_reshapes_becomes_a_view():
    # One channel in each group, as in the first convolution of wav2vec 2.0.
    model = torch.nn.GroupNorm(4, 4).eval()
    program = unmess.capture(model, (torch.randn(2, 4, 6),))
    assert [str(note) for note in program.notes] == ["repair: layout-only as_strided (2 times)"]
    assert "as_strided" not in str(program.exported.graph)
    assert unmess.lower(program).stage == "linalg"


def test_as_strided_that_moves_elements_is_a_selection(monkeypatch):
    def windows(x):
        return x.as_strided((3, 2, 2), (4, 1, 2), 1) + 0

    x = torch.randn(4, 4)
    program = unmess.capture(windows, (x,))
    assert [str(note) for note in program.notes] == ["repair: as_strided as a selection (1 times)"]
    assert torch.equal(unmess.load(program)(x), windows(x))

    rest = tuple(repair for repair in repairs.REPAIRS if "selection" not in repair.name)
    monkeypatch.setattr(repairs, "REPAIRS", rest)
    with pytest.raises(unmess.Error, match="as_strided"):
        unmess.lower(unmess.capture(windows, (x,)))


def test_as_strided_of_memory_with_gaps_is_kept():
    def rows(x):
        return x.as_strided((2, 2), (4, 1)) + 0

    program = unmess.capture(rows, (torch.randn(3, 4)[:, ::2],))
    assert program.notes == ()
    assert "aten.as_strided.default" in str(program.exported.graph)
