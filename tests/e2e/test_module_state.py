"""Tests of state in plain attributes and of control flow on state, compared with eager."""

import copy

import pytest
import torch

import unmess

X = torch.randn(3, 4, generator=torch.Generator().manual_seed(0))


class Recurrent(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)
        self.hidden = torch.zeros(3, 4)

    def forward(self, x):
        self.hidden = torch.tanh(self.linear(x) + self.hidden)
        return self.hidden * 2


class Inside(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.network = Recurrent()

    def forward(self, x):
        return self.network(x) + self.network.hidden.sum()


class Pair(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = torch.nn.LSTMCell(4, 4)
        self.state = (torch.zeros(3, 4), torch.zeros(3, 4))

    def forward(self, x):
        self.state = self.cell(x, self.state)
        return self.state[0]


class InPlace(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.count = torch.zeros(())
        self.memory = [torch.zeros(4)]

    def forward(self, x):
        self.count.add_(1)
        self.memory[0] = self.memory[0] + x[0]
        return x * self.count + self.memory[0]


class VoiceActivity(torch.nn.Module):
    """Keeps its state and the end of the last block, like a TorchScript voice-activity model."""

    def __init__(self):
        super().__init__()
        self.cell = torch.nn.LSTMCell(4, 4)
        self._state = torch.zeros(2, 3, 4)
        self._context = torch.zeros(3, 2)

    def forward(self, x):
        x = torch.cat([self._context, x], 1)
        h, c = self.cell(x[:, :4], (self._state[0], self._state[1]))
        self._state = torch.stack([h, c])
        self._context = x[:, -2:]
        return torch.sigmoid(h)


STATE = {
    Recurrent: {"hidden"},
    Inside: {"network.hidden"},
    Pair: {"state_0", "state_1"},
    InPlace: {"count", "memory_0"},
    VoiceActivity: {"_state", "_context"},
}


def follows(run, model, calls=3):
    eager = copy.deepcopy(model)
    for scale in range(1, calls + 1):
        with torch.no_grad():
            torch.testing.assert_close(run(X * scale), eager(X * scale))


@pytest.mark.parametrize("kind", STATE, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("strategy", ["auto", "strict", "make_fx"])
def test_plain_attributes_are_state(kind, strategy):
    model = kind()
    before = {name: copy.deepcopy(value) for name, value in vars(model).items()}
    program = unmess.capture(model, (X,), strategy=strategy)
    assert vars(model).keys() == before.keys()
    assert not model._buffers and not model._forward_hooks and not model._forward_pre_hooks
    run = unmess.load(program)
    assert set(run.state) == STATE[kind]
    follows(run, model)
    assert any("attributes that the model updates" in note.text for note in program.notes)
    report = unmess.check(program, on="reference", calls=2)
    assert report.ok, report.error
    assert {d.name for d in report.differences} >= {f"state[{name!r}]" for name in STATE[kind]}


class Last(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("last", torch.zeros(4))

    def forward(self, x):
        before = self.last
        self.last = x[0] + before / 2
        return before


class Buffers(torch.nn.Module):
    """Assigns buffers, and reads tensors and views that they held before."""

    def __init__(self):
        super().__init__()
        self.inner = Last()
        for number, name in enumerate(("sum", "copy", "even", "odd")):
            self.register_buffer(name, torch.full((4,), float(number)))

    def forward(self, x):
        before, part = self.sum, self.sum[1:]
        self.sum = self.sum + x[0]
        self.copy = self.sum
        self.sum.add_(1)
        self.even, self.odd = self.odd, self.even
        return before, part, self.inner(x), self.sum - self.copy, self.even * 2


@pytest.mark.parametrize("strategy", ["auto", "strict", "make_fx"])
def test_assigned_buffers_are_state(strategy):
    model = Buffers()
    before = {name: (buffer, buffer.clone()) for name, buffer in model.named_buffers()}
    program = unmess.capture(model, (X,), strategy=strategy)
    assert all(buffer is before[name][0] for name, buffer in model.named_buffers())
    assert all(torch.equal(buffer, value) for buffer, value in before.values())
    run = unmess.load(program)
    assert set(run.state) == set(before)
    follows(run, model)
    report = unmess.check(program, on="reference", calls=2)
    assert report.ok, report.error
    assert {d.name for d in report.differences} >= {f"state[{name!r}]" for name in before}


@pytest.mark.parametrize("kind", [Recurrent, Inside, InPlace], ids=lambda kind: kind.__name__)
def test_with_lazy_tensors(kind):
    model = kind()
    follows(unmess.load(unmess.capture(model, (X,), strategy="lazy")), model)


def test_on_iree():
    model = Recurrent()
    follows(unmess.load(unmess.capture(model, (X,)), on="iree-cpu"), model)


@pytest.mark.parametrize("from_file", [False, True])
def test_attributes_of_a_scripted_module(from_file, tmp_path):
    model = VoiceActivity().eval()
    scripted = torch.jit.script(model)
    if from_file:
        path = tmp_path / "vad.pt"
        torch.jit.save(scripted, path)
        scripted = str(path)
    run = unmess.load(unmess.capture(scripted, (X,)))
    assert set(run.state) == STATE[VoiceActivity]
    follows(run, model)


class Grows(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.seen = torch.zeros(1, 4)

    def forward(self, x):
        self.seen = torch.cat([self.seen, x])
        return self.seen.sum(0)


@pytest.mark.parametrize("make", [lambda m: m, torch.jit.script], ids=["module", "scripted"])
def test_an_attribute_that_changes_its_shape_is_an_error(make):
    with pytest.raises(unmess.Error, match=r"state in seen.*1x4 float32 to 4x4 float32"):
        unmess.capture(make(Grows()), (X,))


class Shown(torch.nn.Module):
    """Stores values for the user to inspect. No call reads them."""

    def __init__(self):
        super().__init__()
        self.attention = torch.zeros(1)

    def forward(self, x):
        self.attention = torch.softmax(x, -1)
        self.last = self.attention
        return self.attention * 2


def test_attributes_that_no_call_reads_are_not_state():
    model = Shown()
    program = unmess.capture(model, (X,))
    assert not program.notes
    assert not hasattr(model, "last")
    follows(unmess.load(program), model)


class FirstNone(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = None

    def forward(self, x):
        self.hidden = x if self.hidden is None else self.hidden + x
        return self.hidden * 2


def test_an_attribute_that_the_first_call_creates():
    model = FirstNone()
    program = unmess.capture(model, (X,))
    (note,) = [note.text for note in program.notes if note.kind == "state"]
    assert note.startswith("the first eager call creates these attributes, and the program ")
    assert model.hidden is None
    model(X)
    follows(unmess.load(unmess.capture(model, (X,))), model)


class Loss(torch.nn.Module):
    """A loss with `__call__` and no `forward`, as in older repositories."""

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.full((4,), 2.0))

    def __call__(self, prediction, target, weight=None, *, scale=1.0):
        loss = ((prediction - target) ** 2 * self.weight).mean() * scale
        return loss if weight is None else (loss * weight).sum()


@pytest.mark.parametrize("strategy", ["non-strict", "strict", "make_fx"])
def test_a_module_with_call_and_no_forward(strategy):
    model = Loss()
    given = {"target": X * 0.5, "weight": torch.ones(2), "scale": 2.0}
    program = unmess.capture(model, (X,), given, strategy=strategy)
    run = unmess.load(program)
    assert list(program.weights) == ["weight"]
    torch.testing.assert_close(run(X, **given), model(X, **given).detach())
    assert unmess.check(program, on="reference", calls=1).ok
    torch.testing.assert_close(
        unmess.load(unmess.capture(model, (X, X * 0.5), strategy=strategy))(X, target=X * 0.5),
        model(X, X * 0.5).detach(),
    )


class Flow(torch.nn.Module):
    """A normalizing flow that sets its scale from its first batch."""

    def __init__(self, initialized):
        super().__init__()
        self.register_buffer("initialized", torch.tensor(initialized))
        self.register_buffer("steps", torch.tensor(3))
        self.register_buffer("limits", torch.ones(4))
        self.scale = torch.nn.Parameter(torch.ones(4))

    def forward(self, x):
        if self.initialized.item() == 0:
            self.scale.data.copy_(1 / (x.std(0) + 1e-6))
            self.initialized.fill_(1)
        if self.steps > 0 and bool((self.steps * self.limits).max() > 1):
            return x * self.scale
        return x


def test_control_flow_on_buffers_is_fixed_and_compared_at_load():
    model = Flow(1)
    program = unmess.capture(model, (X,))
    assert program.strategy == "non-strict"
    (note,) = [note.text for note in program.notes if note.kind == "specialized"]
    assert "initialized = 1, limits = a tensor of 4, steps = 3" in note
    follows(unmess.load(program), model)
    model.steps.fill_(0)
    with pytest.raises(
        unmess.Error, match=r"fixed the control flow to steps = 3, but steps is 0 now"
    ) as caught:
        unmess.load(program)
    assert caught.value.stage == "load"
    follows(unmess.load(unmess.capture(model, (X,))), model)


def test_a_branch_on_a_buffer_that_is_written_is_an_error():
    model = Flow(0)
    with pytest.raises(unmess.Error, match="the value of initialized, which it writes") as caught:
        unmess.capture(model, (X,), strategy="non-strict")
    assert "call the model once in eager" in caught.value.hint
    model(X)
    follows(unmess.load(unmess.capture(model, (X,))), model)


def test_values_of_arguments_are_not_fixed():
    def branch(x):
        return x + 1 if x.sum() > 0 else x

    with pytest.raises(unmess.Error, match="data-dependent"):
        unmess.capture(branch, (X,), strategy="non-strict")
