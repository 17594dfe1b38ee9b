"""The capture reports Python attributes that a call changes, and only those."""

import pytest
import torch

import unmess
from importers.capture.python_state import watching

X = torch.ones(3)


class Counter(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList([torch.nn.Identity()])
        self.layers[0].log = [0]
        self.calls = 0
        self.scale = 2.0

    def forward(self, x):
        self.calls += 1
        self.layers[0].log[0] += 1
        return x * self.calls * self.scale


def state_notes(model, **options):
    program = unmess.capture(model, (X,), **options)
    return [note.text for note in program.notes if note.kind == "state"]


@pytest.mark.parametrize("strategy", ["non-strict", "strict", "draft"])
def test_attributes_that_each_call_changes_are_noted(strategy):
    model = Counter()
    (note,) = state_notes(model, strategy=strategy)
    assert note.endswith("the program keeps their first values: calls, layers.0.log")
    assert (model.calls, model.layers[0].log) == (0, [0])
    assert not model._forward_hooks


def test_stored_symbolic_sizes_stay_symbolic():
    class Remembers(torch.nn.Module):
        def forward(self, x):
            self.length = x.shape[0]
            return x * self.length

    program = unmess.capture(Remembers(), (X,), dynamic_shapes=["x.0=n"])
    assert any("length" in note.text for note in program.notes if note.kind == "state")
    assert program.signature.inputs[0].spec.shape[0].expression == "n"


def test_models_without_python_state_get_no_note():
    model = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.BatchNorm1d(3)).eval()
    with watching(model) as changed:
        model(torch.ones(2, 3))
    assert (changed.values, changed.tensors, changed.written) == (set(), {}, set())
    assert state_notes(lambda x: x * 2) == []
