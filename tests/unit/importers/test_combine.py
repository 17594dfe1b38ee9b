"""Tests the names of weights and state in combined programs."""

import pytest
import torch

import unmess


class Scale(torch.nn.Module):
    def __init__(self, weight):
        super().__init__()
        self.weight = weight

    def forward(self, x):
        return x * self.weight


class Count(torch.nn.Module):
    def __init__(self, total):
        super().__init__()
        self.register_buffer("total", total)

    def forward(self, x):
        self.total += x
        return self.total + 0


class Total(torch.nn.Module):
    def __init__(self, total):
        super().__init__()
        self.register_buffer("sum", total)

    def forward(self):
        return self.sum * 2


def scale(weight):
    return unmess.capture(Scale(weight), (torch.ones(2),))


def arguments(programs, entry):
    return [(a.kind, a.name) for a in programs[entry].signature.arguments]


def test_shared_memory_is_one_weight_and_a_copy_is_another():
    weight = torch.nn.Parameter(torch.ones(2))
    copy = torch.nn.Parameter(torch.ones(2))
    programs = unmess.combine({"a": scale(weight), "b": scale(weight), "c": scale(copy)})
    assert list(programs.weights) == ["weight", "c.weight"]
    assert programs.weights["weight"] is weight and programs.weights["c.weight"] is copy
    assert arguments(programs, "b") == [("input", "x"), ("weight", "weight")]
    assert arguments(programs, "c") == [("input", "x"), ("weight", "c.weight")]


def test_name_conflict_does_not_bind_the_wrong_weight():
    """In `b`, the first tensor is called `other`, and `weight` is another tensor."""

    class Both(torch.nn.Module):
        def __init__(self, first, second):
            super().__init__()
            self.other, self.weight = first, second

        def forward(self, x):
            return x * self.weight - self.other

    first = torch.nn.Parameter(torch.full((2,), 3.0))
    second = torch.nn.Parameter(torch.full((2,), 5.0))
    x = torch.ones(2)
    programs = unmess.combine({"a": scale(first), "b": unmess.capture(Both(first, second), (x,))})
    assert sorted(programs.weights) == ["b.weight", "weight"]
    run = unmess.load(programs, on="reference")
    assert run.a(x).tolist() == [3, 3] and run.b(x).tolist() == [2, 2]


def test_buffer_that_one_program_writes_is_state_in_all():
    total = torch.zeros(2)
    programs = unmess.combine(
        {
            "read": unmess.capture(Total(total)),
            "count": unmess.capture(Count(total), (torch.ones(2),)),
        }
    )
    assert arguments(programs, "read") == [("state", "sum")]
    assert arguments(programs, "count") == [("input", "x"), ("state", "sum")]
    assert [r.name for r in programs["count"].signature.results if r.kind == "state"] == ["sum"]
    # State stays an argument of both functions.
    inline = unmess.lower(programs, to="raw", weights="inline")
    assert str(inline).count("unmess.state") == 2


def test_notes_name_their_entry_point():
    weight = torch.nn.Parameter(torch.ones(2))
    programs = unmess.combine(
        {"a": unmess.capture(Scale(weight), (torch.ones(2),)), "b": scale(weight)}
    )
    assert programs.notes == ()
    counted = unmess.combine(
        {"a": scale(weight), "b": unmess.capture(Count(torch.zeros(2)), (torch.ones(2),))}
    )
    assert [note.text.split(":")[0] for note in counted.notes] == ["b"]


@pytest.mark.parametrize("name", ["", "two words", "_private", "1st"])
def test_invalid_entry_point_names_are_rejected(name):
    program = scale(torch.nn.Parameter(torch.ones(2)))
    with pytest.raises(unmess.Error, match="is not a valid name of an entry point"):
        unmess.combine({name: program})
    with pytest.raises(unmess.Error, match="no program"):
        unmess.combine({})


def test_method_keeps_the_weight_names_of_its_module():
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(2, 2)

        def embed(self, x):
            return self.layer(x)

    net = Net()
    program = unmess.capture(net.embed, (torch.ones(1, 2),))
    assert list(program.weights) == ["layer.weight", "layer.bias"]
    assert program.weights["layer.bias"] is net.layer.bias
    assert "forward" not in vars(net)


def test_ir_of_files_is_rejected(tmp_path):
    x = torch.ones(3)
    for name, function in (("plus", lambda x: x + 1), ("times", lambda x: x * 10)):
        unmess.lower(unmess.capture(function, (x,))).save(tmp_path / f"{name}.mlir")
    programs = {name: unmess.capture(f"{tmp_path}/{name}.mlir") for name in ("plus", "times")}
    with pytest.raises(unmess.Error, match="plus is the IR of a file") as caught:
        unmess.combine(programs)
    assert caught.value.stage == "usage"
