"""Tests of `tensor.data` and other accesses that are not operators, compared with eager."""

import copy
import threading

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

import unmess

X = torch.randn(3, 4, generator=torch.Generator().manual_seed(0))
TRACED = ("non-strict", "draft", "make_fx")


def written_in_place(x):
    y = x.clone()
    before = y * 2
    y.data.mul_(3)
    y.data[0] = 5
    return y, before


def of_bytes(x):
    return (~(x > 0).byte().data).float()


def of_a_view(x):
    return x.T.data.contiguous()


def of_an_argument(x):
    x.data.add_(1)
    return x * 2


def assigned(x):
    y = x.clone()
    view = y[0]
    y.data = x * 2
    y.add_(1)
    return y, view


def assigned_other_shape_and_dtype(x):
    y = x.clone()
    y.data = x.double()[:2]
    return y, y.shape[0]


def assigned_to_an_argument(x):
    old = x.detach()
    x.data = x * 2
    return x + 1, old * 1


def storage_set(x):
    y = x.clone()
    y.set_(x * 3)
    return y + 1


def deep_copied(x):
    y = x * 2
    z = copy.deepcopy(y)
    z.add_(1)
    return y, z


FUNCTIONS = (
    written_in_place,
    of_bytes,
    of_a_view,
    of_an_argument,
    assigned,
    assigned_other_shape_and_dtype,
    assigned_to_an_argument,
    storage_set,
    deep_copied,
)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
@pytest.mark.parametrize("strategy", TRACED)
def test_a_function(function, strategy):
    run = unmess.load(unmess.capture(function, (X.clone(),), strategy=strategy))
    torch.testing.assert_close(run(X.clone()), function(X.clone()))


@pytest.mark.parametrize(
    "function", [written_in_place, of_bytes, of_a_view, of_an_argument], ids=lambda f: f.__name__
)
def test_strict(function):
    run = unmess.load(unmess.capture(function, (X.clone(),), strategy="strict"))
    torch.testing.assert_close(run(X.clone()), function(X.clone()))


class Parameters(torch.nn.Module):
    """Normalizes its weights and keeps statistics through `.data`, like older code."""

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.arange(1.0, 5))
        self.register_buffer("mean", torch.zeros(4))
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x):
        old = self.mean.data
        self.weight.data.div_(self.weight.data.norm())
        self.mean.data = 0.9 * self.mean.data + 0.1 * x.data.mean(0)
        self.calls.data.add_(1)
        return (x - old) * self.weight + self.mean * self.calls


@pytest.mark.parametrize("strategy", ["non-strict", "make_fx", "lazy"])
@pytest.mark.parametrize("runner", ["reference", "iree-cpu"])
def test_parameters_and_buffers_are_state(runner, strategy):
    model = Parameters()
    run = unmess.load(unmess.capture(model, (X,), strategy=strategy), on=runner)
    for scale in range(1, 4):
        with torch.no_grad():
            torch.testing.assert_close(run(X * scale), model(X * scale))
    for name in ("weight", "mean", "calls"):
        torch.testing.assert_close(run.state[name], getattr(model, name).detach())


class Trains(torch.nn.Module):
    """Hand-written gradient descent, as it was common before `torch.no_grad`."""

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(4))

    def forward(self, x):
        loss = ((x * self.weight).sum(1) - 1).square().sum()
        loss.backward()
        self.weight.data = self.weight.data - 0.1 * self.weight.grad
        self.weight.grad = None
        return loss


def test_a_hand_written_training_step():
    model = Trains()
    run = unmess.load(unmess.capture(model, (X,), strategy="make_fx"))
    for _ in range(3):
        torch.testing.assert_close(run(X), model(X).detach())
    torch.testing.assert_close(run.state["weight"], model.weight.detach())


class GrowsItsBuffer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.zeros(3, 4))

    def forward(self, x):
        self.seen.data = torch.cat([self.seen, x])
        return self.seen.sum(0)


def test_a_buffer_that_gets_another_shape_is_an_error():
    message = r"another shape or dtype to seen: 6x4 .* instead of 3x4"
    with pytest.raises(unmess.Error, match=message):
        unmess.capture(GrowsItsBuffer(), (X,))


class GradientAfterAssignment(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(4))

    def forward(self, x):
        self.weight.data = self.weight.data * 2
        (x * self.weight).sum().backward()
        return self.weight.grad


def test_gradients_of_assigned_data_are_refused():
    with pytest.raises(unmess.Error, match="after it assigned the tensor's data"):
        unmess.capture(GradientAfterAssignment(), (X,), strategy="make_fx")


def of_a_thread(x):
    results = []
    thread = threading.Thread(target=lambda: results.append(x + 1))
    thread.start()
    thread.join()
    return results[0] * 2


WITHOUT_FORM = {
    "data_ptr": lambda x: x + 1 if x.data_ptr() == x.clone().data_ptr() else x,
    "DLPack": lambda x: torch.from_dlpack(x * 2),
    "share_memory_": lambda x: (x * 2).share_memory_(),
    "apply_": lambda x: (x * 1).apply_(lambda v: v + 1),
    "as text": lambda x: x + len(f"{x.sum():.1f}"),
    "storage": lambda x: torch.empty(0).set_(x.storage(), 0, (4,)),
    "copy": lambda x: copy.copy(x * 2),
    "thread": of_a_thread,
}


@pytest.mark.parametrize("what", WITHOUT_FORM)
def test_unsupported_accesses_are_errors(what):
    with pytest.raises(unmess.Error) as raised:
        unmess.capture(WITHOUT_FORM[what], (X,))
    assert raised.value.stage == "capture"
    assert "\n" not in raised.value.cause
    if what in ("data_ptr", "DLPack", "share_memory_", "apply_", "as text"):
        assert what in raised.value.cause
        assert raised.value.where.startswith(__file__)


def test_a_tensor_that_the_tracer_loses_never_reaches_a_program(monkeypatch):
    """Without `DataAccess`, PyTorch turns `x.data` into a constant without values."""
    from importers.capture import strategies

    with monkeypatch.context() as patch:
        patch.setattr(strategies, "data_access", lambda module: torch.no_grad())
        for function in (written_in_place, of_bytes):
            with pytest.raises(unmess.Error, match=r"tracer lost a tensor|fake tensor"):
                unmess.capture(function, (X,), strategy="non-strict")


def test_an_exported_program_with_a_lost_tensor_is_refused():
    exported = torch.export.export(torch.nn.Linear(4, 4), (X,))
    with FakeTensorMode() as fake:
        exported.state_dict["weight"] = fake.from_tensor(torch.ones(4, 4))
    with pytest.raises(unmess.Error, match="weight without values"):
        unmess.capture(exported)
