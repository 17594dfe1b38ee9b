"""Tests of training steps as one module: ten steps on the runners match eager's losses."""

import copy
import functools

import pytest
import torch
import torch.nn.functional as F
from torch.func import functional_call

import unmess

STEPS = 10


def mlp():
    return torch.nn.Sequential(torch.nn.Linear(6, 16), torch.nn.Tanh(), torch.nn.Linear(16, 3))


def cnn():
    return torch.nn.Sequential(
        # No bias: its gradient is zero before a batch norm, and Adam would scale the rounding
        # errors of that gradient up to whole steps.
        torch.nn.Conv2d(1, 4, 3, padding=1, bias=False),
        torch.nn.BatchNorm2d(4),
        torch.nn.ReLU(),
        torch.nn.MaxPool2d(2),
        torch.nn.Conv2d(4, 8, 3),
        torch.nn.ReLU(),
        torch.nn.AdaptiveAvgPool2d(1),
        torch.nn.Flatten(),
        torch.nn.Linear(8, 3),
    )


NETWORKS = {"mlp": (mlp, (8, 6)), "cnn": (cnn, (4, 1, 10, 10))}
OPTIMIZERS = {
    "sgd": lambda parameters: torch.optim.SGD(parameters, lr=0.1, momentum=0.9),
    "adam": lambda parameters: torch.optim.Adam(parameters, lr=0.02),
}


class Step(torch.nn.Module):
    """One step of a network and its optimizer."""

    def __init__(self, network, optimizer):
        super().__init__()
        self.network = network
        self.optimizer = OPTIMIZERS[optimizer](network.parameters())

    def forward(self, x, target):
        self.optimizer.zero_grad()
        loss = F.cross_entropy(self.network(x), target)
        loss.backward()
        self.optimizer.step()
        return loss


def batches(shape):
    return [(torch.randn(shape), torch.randint(0, 3, shape[:1])) for _ in range(STEPS)]


def close(actual, expected):
    torch.testing.assert_close(actual, expected, rtol=2e-4, atol=2e-5)


# Each step is captured once, for both runners.
@functools.cache
def captured(network, optimizer):
    """Returns a step, its data, its state before the capture, and its program."""
    torch.manual_seed(0)
    make, shape = NETWORKS[network]
    step = Step(make(), optimizer)
    data = batches(shape)
    before = copy.deepcopy(step.state_dict())
    return step, data, before, unmess.capture(step, data[0])


@pytest.mark.parametrize("runner", ["reference", "iree-cpu"])
@pytest.mark.parametrize("network, optimizer", [("mlp", "sgd"), ("cnn", "adam")])
def test_module_with_optimizer(network, optimizer, runner):
    step, data, before, program = captured(network, optimizer)
    assert program.strategy == "make_fx"
    run = unmess.load(program, on=runner)
    ours = [float(run(*batch)) for batch in data]
    assert all(torch.equal(value, before[name]) for name, value in step.state_dict().items())
    assert not step.optimizer.state, "neither capture nor a runner advances the user's objects"

    step = copy.deepcopy(step)
    theirs = [float(step(*batch).detach()) for batch in data]
    close(torch.tensor(ours), torch.tensor(theirs))
    for name, value in step.state_dict().items():
        close(run.state[name], value)
    for name, parameter in step.named_parameters():
        for moment, value in step.optimizer.state[parameter].items():
            close(run.state[f"optimizer.{moment}.{name}"], value)


def sgd(parameters, gradients, momenta):
    momenta = {name: 0.9 * momenta[name] + gradients[name] for name in parameters}
    return {name: parameters[name] - 0.1 * momenta[name] for name in parameters}, momenta


def functional_steps():
    network = mlp()

    def with_autograd(parameters, momenta, x, target):
        parameters = {name: value.detach().requires_grad_() for name, value in parameters.items()}
        loss = F.cross_entropy(functional_call(network, parameters, (x,)), target)
        gradients = torch.autograd.grad(loss, list(parameters.values()))
        return *sgd(parameters, dict(zip(parameters, gradients, strict=True)), momenta), loss

    def with_func(parameters, momenta, x, target):
        def loss_of(parameters):
            return F.cross_entropy(functional_call(network, parameters, (x,)), target)

        gradients, loss = torch.func.grad_and_value(loss_of)(parameters)
        return *sgd(parameters, gradients, momenta), loss

    return network, {"autograd.grad": with_autograd, "torch.func": with_func}


@pytest.mark.parametrize("form", ["autograd.grad", "torch.func"])
def test_functional_step(form):
    torch.manual_seed(0)
    network, forms = functional_steps()
    step = forms[form]
    parameters = {name: value.detach().clone() for name, value in network.named_parameters()}
    momenta = {name: torch.zeros_like(value) for name, value in parameters.items()}
    batch = batches((8, 6))[0]
    program = unmess.capture(step, (parameters, momenta, *batch))
    assert program.strategy == "make_fx"
    assert [note.kind for note in program.notes].count("gradients") == 1
    assert any("non-strict failed" in note.text for note in program.notes)
    names = [argument.name for argument in program.signature.arguments]
    assert {"parameters_0_weight", "momenta_2_bias", "x", "target"} <= set(names)
    assert unmess.check(program, on="reference", calls=1).ok
    run = unmess.load(program)
    ours, theirs = (parameters, momenta), (parameters, momenta)
    losses = []
    for _ in range(STEPS):
        *ours, our_loss = run(*ours, *batch)
        *theirs, their_loss = step(*theirs, *batch)
        close(our_loss, their_loss.detach())
        losses.append(float(our_loss))
    assert losses[-1] < 0.7 * losses[0]
    for name in parameters:
        close(ours[0][name], theirs[0][name].detach())


@pytest.mark.parametrize("strategy", ["non-strict", "make_fx"])
def test_function_that_differentiates(strategy):
    def force(x):
        x = x.detach().requires_grad_()
        (gradient,) = torch.autograd.grad((x**3).sum(), x)
        return -gradient

    program = unmess.capture(force, (torch.randn(4),), strategy=strategy)
    assert unmess.check(program, on="reference", calls=1).ok


def test_inputs_that_require_gradients():
    weight = torch.randn(3, requires_grad=True)

    def slope(weight, x):
        return torch.autograd.grad((weight * x).pow(2).sum(), weight)[0]

    program = unmess.capture(slope, (weight, torch.randn(3)), strategy="make_fx")
    assert unmess.check(program, on="reference", calls=1).ok


def test_module_that_differentiates_keeps_its_names():
    class Energy(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(3, 1)

        def forward(self, position):
            position = position.detach().requires_grad_()
            energy = torch.tanh(self.layer(position)).sum()
            return energy, -torch.autograd.grad(energy, position)[0]

    program = unmess.capture(Energy(), (torch.randn(5, 3),))
    assert set(program.weights) == {"layer.weight", "layer.bias"}
    assert unmess.check(program, on="reference", calls=1).ok


def test_optimizer_whose_moments_are_not_known():
    step = Step(mlp(), "sgd")
    step.optimizer = torch.optim.NAdam(step.network.parameters())
    x, target = torch.randn(8, 6), torch.randint(0, 3, (8,))
    with pytest.raises(unmess.Error, match="NAdam does not exist before its first step"):
        unmess.capture(step, (x, target))
    step(x, target)
    assert unmess.check(unmess.capture(step, (x, target)), on="reference", calls=1).ok
