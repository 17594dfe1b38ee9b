"""Weights that change after the capture or after the load: some are refused, others are used."""

import json
from functools import partial

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn
from torch._subclasses import FakeTensorMode

import unmess
from unmess.core.files.reading import described, sealed, unsealed
from unmess.packaging import package

RUNNERS = ("reference", "iree-cpu")
X = torch.linspace(-1, 1, 12).reshape(3, 4)


class Masked(nn.Module):
    """A model with a weight, a buffer and state."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.linear = nn.Linear(4, 8).requires_grad_(False)
        self.register_buffer("mask", torch.tensor([True, False] * 4))
        self.register_buffer("calls", torch.zeros(8))

    def forward(self, x):
        self.calls.add_(1)
        return torch.where(self.mask, self.linear(x), 0.0) + self.calls


def captured():
    model = Masked().eval()
    return model, unmess.capture(model, (X,))


def with_weight(change):
    def apply(model):
        model.linear.weight.data = change(model.linear.weight.detach())

    return apply


# Refused changes, by error message.
REFUSED = {
    "linear.weight is 8x4xfloat16, but was captured as 8x4xfloat32": lambda m: m.half(),
    "linear.weight is 8x4xbfloat16": lambda m: m.to(torch.bfloat16),
    "linear.weight is 8x4xfloat64": with_weight(torch.Tensor.double),
    "linear.weight is 2x4xfloat32": with_weight(lambda weight: weight[:2]),
    "linear.weight is 1x8x4xfloat32": with_weight(lambda weight: weight[None]),
    "linear.weight is a Parameter without elements": lambda m: (
        m.linear.weight.untyped_storage().resize_(0)
    ),
    "linear.weight extends beyond the end of its memory": lambda m: (
        m.linear.weight.untyped_storage().resize_(16)
    ),
    "state calls is 4xfloat32": lambda m: setattr(m.calls, "data", torch.zeros(4)),
    "state calls is 8xint64": lambda m: setattr(m.calls, "data", torch.zeros(8, dtype=int)),
    "state calls extends beyond": lambda m: m.calls.untyped_storage().resize_(4),
}


@pytest.mark.parametrize("message", REFUSED)
def test_refused_at_load(message, tmp_path):
    model, program = captured()
    lowered = unmess.lower(program, "raw")
    REFUSED[message](model)
    attempts = [
        # The program, and IR that was lowered before the change.
        *(partial(unmess.load, what, on=on) for on in RUNNERS for what in (program, lowered)),
        partial(package, program, tmp_path / "bundle"),
        partial(lowered.save, tmp_path / "masked.mlir"),
    ]
    if "state" not in message:
        attempts += [partial(unmess.lower, program, "raw", weights=w) for w in ("inline", "splat")]
    for attempt in attempts:
        with pytest.raises(unmess.Error, match=message) as caught:
            attempt()
        assert "\n" not in caught.value.cause
    assert not list(tmp_path.glob("masked.mlir.*"))


# Accepted changes: other elements, or the same elements in another place or order.
USED = {
    "transposed": with_weight(lambda weight: torch.randn(4, 8).t()),
    "broadcast": with_weight(lambda weight: torch.randn(1, 4).expand(8, 4)),
    "negative": with_weight(torch._neg_view),
    "slice": with_weight(lambda weight: torch.randn(9, 7)[1:, ::2]),
    "sub-class": with_weight(lambda weight: weight.as_subclass(type("Own", (torch.Tensor,), {}))),
    "shared": lambda model: model.share_memory(),
    "copied": lambda model: model.load_state_dict(Masked().state_dict()),
    "true as 255": lambda m: m.mask.view(torch.uint8).copy_(torch.tensor([255, 0, 2, 0] * 2)),
    "gradients": lambda model: model.linear.requires_grad_(True),
}


@pytest.mark.parametrize("runner", RUNNERS)
@pytest.mark.parametrize("name", USED)
def test_used_at_load(name, runner):
    model, program = captured()
    USED[name](model)
    run = unmess.load(program, on=runner)
    torch.testing.assert_close(run(X), model(X).detach())
    assert not [note for note in run.notes if "after the capture" in str(note)]


def test_new_tensors_are_reported():
    model, program = captured()
    before = model(X) - model.calls
    model.load_state_dict({k: v.clone() for k, v in model.state_dict().items()}, assign=True)
    model.linear.weight.mul_(2)
    run = unmess.load(program)
    note = (
        "weights: the model got new tensors after the capture, which the program does not use: "
        "calls and 3 more"
    )
    assert note in [str(note) for note in run.notes]
    torch.testing.assert_close(run(X) - run.state["calls"], before)


MOVED = {
    "freed": lambda model: model.linear.weight.untyped_storage().resize_(0),
    "smaller": lambda model: model.linear.weight.untyped_storage().resize_(16),
    "larger": lambda model: model.linear.weight.untyped_storage().resize_(1 << 20),
    "shared": lambda model: model.share_memory(),
}


@pytest.mark.parametrize("runner", RUNNERS)
@pytest.mark.parametrize("name", MOVED)
def test_memory_moved_after_the_load_is_refused(name, runner):
    model, program = captured()
    run = unmess.load(program, on=runner)
    run(X)
    MOVED[name](model)
    with pytest.raises(
        unmess.Error, match=r"memory of weight linear.* was moved, resized or freed"
    ):
        run(X)


@pytest.mark.parametrize("runner", RUNNERS)
def test_tensors_replaced_after_the_load_are_not_used(runner):
    """The program keeps the tensors that it was loaded with."""
    model, program = captured()
    run = unmess.load(program, on=runner)
    before = run(X)
    model.linear.weight.data = torch.randn(2, 2)
    model.linear.bias.set_(torch.randn(1))
    model.half()
    torch.testing.assert_close(run(X), before + 1)


@pytest.mark.parametrize("runner", RUNNERS)
def test_deleted_or_invalid_state_is_refused(runner):
    _, program = captured()
    run = unmess.load(program, on=runner)
    for value in (torch.zeros(4), torch.zeros(8).half(), torch.zeros(8, device="meta"), None):
        run.state["calls"] = value
        with pytest.raises(unmess.Error, match=r"state\['calls'\]"):
            run(X)
    del run.state["calls"]
    with pytest.raises(unmess.Error, match=r"state\['calls'\] is a NoneType"):
        run(X)


def test_captured_without_elements():
    model, x = nn.Linear(4, 8, device="meta"), X.to("meta")
    program = unmess.capture(model, (x,))
    # Lowering needs no elements.
    assert "!torch.vtensor<[8,4],f32>" in str(unmess.lower(program, "raw"))
    with pytest.raises(unmess.Error, match="weight weight is on meta, expected cpu"):
        unmess.load(program)
    with FakeTensorMode():
        program.weights["weight"] = torch.empty(8, 4)
    with pytest.raises(unmess.Error, match="weight weight is a FakeTensor without elements"):
        unmess.load(program)


FILES = {
    "weight weight is 2x4xfloat32, but was captured as 8x4xfloat32": lambda w: {
        **w,
        "weight": w["weight"][:2].clone(),
    },
    "weight .* is .*float16, but": lambda w: {name: tensor.half() for name, tensor in w.items()},
    r"weight bias \(8xfloat32\) is missing": lambda w: {"weight": w["weight"]},
}


@pytest.mark.parametrize("message", FILES)
def test_invalid_weights_files_are_refused(message, tmp_path):
    """Another program replaced the weights and updated the checksum."""
    file = tmp_path / "linear.mlir"
    unmess.lower(unmess.capture(nn.Linear(4, 8), (X,))).save(file)
    weights = tmp_path / "linear.mlir.safetensors"
    save_file(FILES[message](load_file(weights)), weights)
    table = tmp_path / "linear.mlir.json"
    fields = json.loads(table.read_text())
    described_again = {"files": described(tmp_path, list(fields["files"]))}
    table.write_text(json.dumps(sealed(unsealed(fields) | described_again)))
    with pytest.raises(unmess.Error, match=message):
        unmess.load(unmess.capture(str(file)))
