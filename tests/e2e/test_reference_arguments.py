"""Tests that calls read arguments correctly or refuse them at the start, and never write them."""

import functools
import warnings

import pytest
import torch
from torch._subclasses import FakeTensorMode
from torch.utils._pytree import tree_map

import unmess


class Labelled(torch.Tensor):
    """A tensor subclass with its own elements."""


class Wrapped(torch.Tensor):
    """A tensor subclass without elements, which wraps another tensor."""

    @staticmethod
    def __new__(cls, inner):
        return torch.Tensor._make_wrapper_subclass(cls, inner.size(), dtype=inner.dtype)

    def __init__(self, inner):
        self.inner = inner

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        args = tree_map(lambda value: value.inner if isinstance(value, cls) else value, args)
        return function(*args, **kwargs or {})


def without_memory(x: torch.Tensor) -> torch.Tensor:
    x = x.clone()
    x.untyped_storage().resize_(0)
    return x


def at_an_odd_address(x: torch.Tensor) -> torch.Tensor:
    buffer = bytearray(b"\0" + x.numpy().tobytes())
    return torch.frombuffer(buffer, dtype=x.dtype, offset=1).reshape(x.shape)


def double(x):
    return x * 2 + 1


@functools.cache
def loaded():
    return unmess.load(unmess.capture(double, (torch.zeros(3, 4),)), on="reference")


X = torch.arange(12.0).reshape(3, 4)


@pytest.mark.parametrize(
    "x",
    [
        torch.arange(12.0).reshape(4, 3).t(),
        torch.ones(1, 4).expand(3, 4),
        torch.tensor(3.0).expand(3, 4),
        torch.arange(96.0).reshape(6, 16)[::2, ::4],
        torch._neg_view(X),
        X.clone().requires_grad_(),
        torch.nn.Parameter(X),
        X.as_subclass(Labelled),
        at_an_odd_address(X),
    ],
)
def test_unusual_tensors_are_read_correctly(x):
    before = x.detach().clone()
    result = loaded()(x)
    assert torch.equal(result, double(before).as_subclass(torch.Tensor))
    assert type(result) is torch.Tensor and not result.requires_grad
    assert torch.equal(x.detach(), before)


def refused():
    with warnings.catch_warnings():
        # PyTorch warns that sparse and nested tensors are prototypes.
        warnings.simplefilter("ignore")
        return {
            "dtype": (X.int(),),
            "rank": (X[None],),
            "shape": (X[:2],),
            "expected cpu": (X.to("meta"),),
            "dense": (X.to_sparse(),),
            "nested": (torch.nested.nested_tensor([X, X]),),
            "does not match the captured call": (),
            "does not match the captured": (X, X),
            "leaves": (X.tolist(),),
            "NoneType": (None,),
            "ndarray": (X.numpy(),),
            "FakeTensor without elements": (FakeTensorMode().from_tensor(X),),
            "Wrapped without elements": (Wrapped(X),),
            "Tensor without elements": (without_memory(X),),
        }


@pytest.mark.parametrize(("message", "args"), refused().items(), ids=list(refused()))
def test_arguments_that_are_refused(message, args):
    with pytest.raises(unmess.Error, match=message) as caught:
        loaded()(*args)
    assert caught.value.stage == "run"


class Total(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.zeros_like(X))

    def forward(self, x):
        self.total.add_(x)
        return self.total.clone()


# The same checks take another path for states.
@pytest.mark.parametrize("message", ["dtype", "rank", "expected cpu", "nested", "without elements"])
def test_states_that_are_refused(message):
    (value,) = {**refused(), "without elements": (without_memory(X),)}[message]
    run = unmess.load(unmess.capture(Total(), (X,)), on="reference")
    run.state["total"] = value
    with pytest.raises(unmess.Error, match=message):
        run(X)


def test_a_call_without_the_argument_of_a_container():
    program = unmess.capture(lambda pair: pair[0] + pair[1], ([X, X],))
    with pytest.raises(unmess.Error, match="does not match the captured call"):
        unmess.load(program, on="reference")()


def test_transformations_of_functions_are_refused():
    with pytest.raises(unmess.Error, match="without elements in memory"):
        torch.vmap(loaded())(torch.stack([X, X]))
    with pytest.raises(unmess.Error, match="without elements in memory"):
        torch.func.grad(lambda x: loaded()(x).sum())(X)


class Counter(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.zeros(64))

    def forward(self, x):
        self.count.add_(1)
        return x + self.count[0]


def test_state_that_does_not_fit_is_refused():
    run = unmess.load(unmess.capture(Counter(), (X,)), on="reference")
    good = run.state["count"]
    for bad in (torch.zeros(1), torch.zeros(64, dtype=torch.int8), None, good.to("meta")):
        run.state["count"] = bad
        with pytest.raises(unmess.Error, match="count") as caught:
            run(X)
        assert caught.value.stage == "run"
    run.state["count"] = good
    assert torch.equal(run(X), X + 1)


def test_weights_without_elements_are_refused():
    with torch.device("meta"):
        program = unmess.capture(torch.nn.Linear(4, 4), (torch.zeros(3, 4),))
    with pytest.raises(unmess.Error, match="weight is on meta, expected cpu") as caught:
        unmess.load(program, on="reference")
    assert caught.value.stage == "load"
