"""Tests of modules that are cut out of a model with the arguments of their first call."""

import pytest
import torch

import unmess

MODEL = """
import torch

class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x, *, scale=1.0, masks=None, mode="relu"):
        self.calls += 1
        y = self.linear(x) * scale
        for mask in masks or ():
            y = y * mask
        # The recorded argument must have the values from before this line.
        x.fill_(float("nan"))
        return torch.relu(y) if mode == "relu" else {"same": y, "calls": self.calls + 0}

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.block = Block()
        self.alias = self.block
        self.unused = torch.nn.Linear(2, 2)

    def forward(self, x):
        mask = torch.tensor([1.0, float("inf"), 0.0, -1.0])
        first = self.block((x * 3).t().contiguous().t(), scale=2.0, masks=[mask], mode="none")
        return self.alias(first["same"] + 1) + self.block(x.clone(), masks=None)

def model():
    torch.manual_seed(0)
    return Net().eval(), (torch.randn(2, 4),)
"""


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "model.py"
    file.write_text(MODEL)
    return f"{file}:model"


@pytest.mark.parametrize("name", ["block", "alias"])
def test_module_runs_with_the_arguments_of_its_first_call(path, name):
    program = unmess.capture(path, only=name)
    text = f"{name} is called 3 times: its arguments are those of the first call"
    assert ("only", text) in [(note.kind, note.text) for note in program.notes]
    assert program.name == f"model.model.{name}"
    assert program.kwargs["scale"] == 2.0 and program.kwargs["mode"] == "none"
    torch.manual_seed(0)
    unused = torch.nn.Linear(4, 4)  # consumes as many random numbers as the block's weights
    unused = torch.nn.Linear(2, 2)
    assert unused.bias.shape == (2,)
    assert torch.equal(program.args[0], torch.randn(2, 4) * 3)
    assert program.args[0].stride() == (1, 2)
    # The recording runs a copy of the model, so the model's own state has not changed.
    assert program.weights["calls"] == 0
    report = unmess.check(program, on="reference")
    assert report.ok, report.error


def test_dynamic_dimensions_are_those_of_the_module(path):
    program = unmess.capture(path, only="block.linear", dynamic_shapes=["input.0=rows:2..9"])
    assert "tensor<?x4xf32>" in unmess.lower(program).text()
    assert unmess.check(program, on="reference").ok


@pytest.mark.parametrize(
    ("only", "cause", "hint"),
    [
        ("block.linaer", "the model has no module 'block.linaer'", "did you mean block.linear"),
        ("zzz", "the model has no module 'zzz'", "its modules are block, alias, unused"),
        ("", "the model has no module ''", "its modules are block"),
        ("unused", "does not call the module unused", "it calls block, block.linear"),
    ],
)
def test_wrong_names_are_reported(path, only, cause, hint):
    with pytest.raises(unmess.Error) as caught:
        unmess.capture(path, only=only)
    assert caught.value.stage == "usage"
    assert cause in caught.value.cause
    assert hint in caught.value.hint


@pytest.mark.parametrize("model", [torch.relu, torch.jit.script(torch.nn.ReLU())])
def test_only_modules_have_modules(model):
    with pytest.raises(unmess.Error, match=r"out of an nn\.Module only") as caught:
        unmess.capture(model, (torch.randn(2),), only="a")
    assert caught.value.stage == "usage"


def test_model_that_fails_on_its_arguments_is_reported(path):
    with pytest.raises(unmess.Error, match="fails in eager PyTorch") as caught:
        unmess.capture(path, (torch.randn(2, 5),), only="block")
    assert caught.value.stage == "source"
    assert "model.py" in caught.value.where


@pytest.mark.parametrize(
    "command", ["import", "run", "check", "ops", "analyze", "contract", "portable"]
)
def test_every_command_takes_the_module_alone(unmess_command, path, command):
    arguments = ["--on", "reference"] if command in ("run", "check") else []
    done = unmess_command(command, path, "--only", "block.linear", "--json", "-q", *arguments)
    assert done.returncode == 0, done.stderr
    # A module that does not exist is a usage error.
    failed = unmess_command(command, path, "--only", "block.linaer", "-q", *arguments)
    assert failed.returncode == 2
    assert "did you mean block.linear?" in failed.stdout + failed.stderr


def test_ir_has_no_modules(unmess_command, path, tmp_path):
    file = str(tmp_path / "model.mlir")
    unmess_command("import", path, "--only", "block.linear", "-o", file, "-q")
    for command in ("import", "analyze", "contract", "portable"):
        done = unmess_command(command, file, "--only", "block", "-q")
        assert done.returncode == 2, command
        assert done.stderr.startswith("usage: "), done.stderr
