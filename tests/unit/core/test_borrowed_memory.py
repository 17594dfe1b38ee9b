"""Tests that memory is watched by PyTorch's fields, and without them."""

import pytest
import torch

import unmess
from unmess.core.program import borrowed_memory
from unmess.core.program.borrowed_memory import BorrowedMemory

CHANGES = {
    "freed": lambda tensor: tensor.untyped_storage().resize_(0),
    "smaller": lambda tensor: tensor.untyped_storage().resize_(8),
    "larger": lambda tensor: tensor.untyped_storage().resize_(1 << 20),
    "shared": lambda tensor: tensor.share_memory_(),
}


@pytest.fixture(params=["fields", "calls"])
def way(request, monkeypatch):
    """Reads the fields of PyTorch's objects, or calls PyTorch as for an unknown version."""
    if request.param == "calls":
        monkeypatch.setattr(borrowed_memory, "_fields", lambda: None)
    else:
        assert borrowed_memory._fields() is not None
    return request.param


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("place", range(3))
def test_change(way, change, place):
    tensors = {f"w{index}": torch.ones(4, 5) for index in range(3)}
    # Two tensors with the same storage.
    memory = BorrowedMemory({**tensors, "view": tensors["w0"][1:]})
    memory.check()
    tensors["w1"].mul_(2)
    memory.check()
    CHANGES[change](tensors[f"w{place}"])
    with pytest.raises(unmess.Error, match=f"weight {'view' if place == 0 else f'w{place}'} was"):
        memory.check()


def test_no_tensors(way):
    BorrowedMemory({}).check()


def test_a_lazily_cloned_storage(way):
    # The clone shares its memory with the original until one of them may be written.
    original = torch.ones(4, 5)
    memory = BorrowedMemory({"clone": torch._lazy_clone(original)})
    assert memory._content() == memory._found
