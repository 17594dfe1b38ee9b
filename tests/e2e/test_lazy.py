"""Tests of capture with lazy tensors, compared with eager PyTorch."""

import pytest
import torch
import torch.nn.functional as F

import unmess


def matches(model, *args, on="reference", **kwargs):
    program = unmess.capture(model, args, kwargs, strategy="lazy")
    assert program.strategy == "lazy"
    report = unmess.check(program, on=on, calls=1)
    assert report.ok, report.error
    return program


def mlp():
    return torch.nn.Sequential(torch.nn.Linear(6, 16), torch.nn.GELU(), torch.nn.Linear(16, 3))


class Cnn(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(1, 4, 3, padding=1)
        self.norm = torch.nn.BatchNorm2d(4)
        self.head = torch.nn.Linear(4, 3)

    def forward(self, x):
        x = F.max_pool2d(torch.relu(self.norm(self.conv(x))), 2)
        return {"logits": self.head(x.mean((2, 3))), "features": x}


@pytest.mark.parametrize("on", ["reference", "iree-cpu"])
def test_mlp(on):
    torch.manual_seed(0)
    program = matches(mlp(), torch.randn(2, 6), on=on)
    assert set(program.weights) == {"0.weight", "0.bias", "2.weight", "2.bias"}
    assert program.weights["0.weight"].data_ptr() == program.eager[0].weight.data_ptr()


@pytest.mark.parametrize("on", ["reference", "iree-cpu"])
def test_cnn(on):
    torch.manual_seed(0)
    model = Cnn().eval()
    program = matches(model, torch.randn(2, 1, 8, 8), on=on)
    assert {"conv.weight", "norm.running_mean", "head.bias"} <= set(program.weights)


def test_attention():
    torch.manual_seed(0)

    def attend(query, key, value):
        mask = torch.arange(5)[:, None] >= torch.arange(5)
        bias = torch.zeros(5, 5).masked_fill(~mask, float("-inf"))
        return F.scaled_dot_product_attention(query, key, value, attn_mask=bias)

    matches(attend, *(torch.randn(1, 2, 5, 4) for _ in range(3)))


class Logged(torch.nn.Module):
    """A module with Python code that torch.export cannot trace."""

    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 4)
        self.calls = []

    def forward(self, x):
        if type(x) is not torch.Tensor:  # torch.export passes a subclass of its own
            raise TypeError(f"got a {type(x).__name__}")
        self.calls.append(tuple(x.shape))
        return torch.relu(self.layer(x)) * 0.1


def test_python_code_that_export_refuses():
    model = Logged()
    with pytest.raises(unmess.Error):
        unmess.capture(model, (torch.randn(2, 4),), strategy="non-strict")
    matches(model, torch.randn(2, 4))


def test_state_inputs_and_constants_as_results():
    class Counter(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("total", torch.zeros(3))
            self.offset = torch.tensor([1.0, 2.0, 3.0])

        def forward(self, x, scale=2.5):
            self.total += x
            return self.total * scale + self.offset, x, torch.ones(2), 7, None

    program = matches(Counter(), torch.randn(3))
    run = unmess.load(program)
    run(torch.ones(3))
    run(torch.ones(3))
    assert run.state["total"].tolist() == [2.0, 2.0, 2.0]


def test_double_precision_scalars():
    matches(lambda x: x * 0.1 + 1e-12, torch.randn(3, dtype=torch.float64))


REFUSED = {
    "value as a condition": (lambda x: x * 2 if x.sum() > 0 else x, "reads a value of a tensor"),
    "item": (lambda x: x * x.sum().item(), "reads a value of a tensor"),
    "operator without a kernel": (lambda x: x[x.argmax()], "no kernel for aten::argmax"),
    "random numbers": (lambda x: x + torch.rand(3), "draws random numbers"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_unsupported_functions_are_refused(case):
    function, message = REFUSED[case]
    with pytest.raises(unmess.Error, match=message) as caught:
        unmess.capture(function, (torch.tensor([1.0, 5.0, 2.0]),), strategy="lazy")
    assert caught.value.stage == "capture"
    assert caught.value.hint


def test_dynamic_shapes_are_refused():
    with pytest.raises(unmess.Error, match="does not support dynamic shapes"):
        rows = torch.export.Dim("rows", min=2, max=8)
        unmess.capture(mlp(), (torch.ones(2, 6),), dynamic_shapes=({0: rows},), strategy="lazy")
