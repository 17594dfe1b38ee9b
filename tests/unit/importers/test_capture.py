import copy
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import unmess
from importers.capture import strategies


def test_weights_share_memory_and_unused_ones_are_dropped():
    model = torch.nn.Sequential(torch.nn.Conv2d(1, 2, 1), torch.nn.BatchNorm2d(2)).eval()
    program = unmess.capture(model, (torch.randn(1, 1, 3, 3),))
    own = model.state_dict()
    assert set(program.weights) == set(own) - {"1.num_batches_tracked"}
    for name, weight in program.weights.items():
        assert weight.data_ptr() == own[name].data_ptr()


def test_constants_that_share_memory_are_one_weight():
    """A constant with two names has two placeholders in the graph (Gemma 4's image padding)."""

    class Masked(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.mask = torch.arange(100) % 3 == 0
            self.again = self.mask.view(100)

        def forward(self, x):
            return torch.where(self.again, x, 1.0) + self.mask

    program = unmess.capture(Masked(), (torch.randn(100),))
    assert len(program.weights) == 1
    assert unmess.check(program, on="reference", calls=1).ok


def test_signature_names_inputs_and_weights():
    program = unmess.capture(torch.nn.Linear(3, 2), (torch.randn(4, 3),))
    kinds = [(argument.kind, argument.name) for argument in program.signature.arguments]
    assert kinds == [("input", "input"), ("weight", "weight"), ("weight", "bias")]
    assert str(program.signature.results[0].spec) == "4x2xfloat32"


def test_args_may_be_a_single_tensor():
    program = unmess.capture(torch.nn.ReLU(), torch.randn(3))
    assert len(program.args) == 1


def test_failed_strategies_are_recorded():
    def data_dependent(x):
        if x.sum() > 0:
            return x * 2
        return x * 3

    program = unmess.capture(data_dependent, (torch.ones(3),))
    assert program.strategy == "draft"
    assert [attempt.strategy for attempt in program.attempts] == ["non-strict", "strict", "draft"]
    assert program.attempts[0].error is not None
    kinds = [note.kind for note in program.notes]
    assert kinds.count("fallback") == 3


def test_a_failed_capture_leaves_no_marks_on_its_tensors():
    def add(x):
        return x + torch.ones(5, 3)

    x = torch.randn(5, 3)
    with pytest.raises(unmess.Error, match="specialized"):
        unmess.capture(add, (x,), dynamic_shapes=({0: torch.export.Dim.DYNAMIC},))
    assert unmess.capture(add, (x,)).strategy == "non-strict"


def test_a_capture_keeps_the_users_marks():
    x = torch.randn(5, 3)
    torch._dynamo.mark_dynamic(x, 1)
    before = {name: copy.copy(value) for name, value in vars(x).items()}
    unmess.capture(lambda x: x + 1, (x,), dynamic_shapes=({0: torch.export.Dim.DYNAMIC},))
    assert vars(x) == before


class Scaled(torch.nn.Module):
    """Takes a branch by the values of a parameter and an input."""

    def __init__(self):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.tensor([2.0, -3.0, 4.0]))

    def forward(self, x):
        if (x * self.scale).sum() == 3.0:
            return x + self.scale
        return x - self.scale


def test_draft_decides_by_the_values_of_parameters():
    model, x = Scaled(), torch.ones(3)
    program = unmess.capture(model, (x,), strategy="draft")
    torch.testing.assert_close(program.exported.module()(x), model(x))


def test_draft_decides_defaults_by_the_example_if_they_contradict_it():
    def first_times_all(x, y):
        chosen = y[x.nonzero()[:, 0]]
        if chosen.shape[0] == 0:
            return chosen
        # By default, PyTorch assumes that the size of the slice, min(1, chosen), is not 1.
        return chosen[0:1] * chosen

    args = torch.tensor([0, 1, 2]), torch.randn(3)
    program = unmess.capture(first_times_all, args, strategy="draft")
    torch.testing.assert_close(program.exported.module()(*args), first_times_all(*args))


def test_training_mode_is_reported_and_not_changed():
    model = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Dropout())
    program = unmess.capture(model, (torch.randn(2, 3),))
    assert any(note.kind == "training" and "Dropout" in note.text for note in program.notes)
    assert model.training
    quiet = unmess.capture(model.eval(), (torch.randn(2, 3),))
    assert not any(note.kind == "training" for note in quiet.notes)


def test_exported_program_is_not_changed():
    x = torch.randn(2, 3)
    exported = torch.export.export(torch.nn.Linear(3, 3), (x,))
    before = str(exported.graph)
    program = unmess.capture(exported)
    assert torch.equal(program.args[0], x)
    assert str(exported.graph) == before, "the caller's program must not be changed"


def fails(x):
    y = x + 1
    return y @ torch.ones(5, 5)


ERRORS = {
    "raises": (
        lambda: unmess.capture(fails, (torch.ones(2, 3),)),
        "source",
        "in eager PyTorch: Runtime",
    ),
    "too few": (lambda: unmess.capture(torch.nn.Linear(2, 2)), "source", "do not fit the model"),
    "too many": (
        lambda: unmess.capture(torch.nn.ReLU(), (torch.ones(1), 2, 3)),
        "source",
        "do not fit the model",
    ),
    "not a model": (lambda: unmess.capture(3), "usage", "cannot capture a int"),
    "args": (lambda: unmess.capture(torch.nn.ReLU(), 3), "usage", "args is a int"),
    "strategy": (
        lambda: unmess.capture(torch.nn.ReLU(), (torch.ones(1),), strategy="best"),
        "usage",
        "unknown capture strategy 'best'",
    ),
}


@pytest.mark.parametrize("case", ERRORS)
def test_errors(case):
    action, stage, message = ERRORS[case]
    with pytest.raises(unmess.Error, match=message) as caught:
        action()
    assert caught.value.stage == stage
    assert caught.value.hint


def test_error_has_the_users_source_line():
    with pytest.raises(unmess.Error) as caught:
        unmess.capture(fails, (torch.ones(2, 3),))
    assert caught.value.where == f"{__file__}:{fails.__code__.co_firstlineno + 2}"


def test_model_that_runs_in_eager_but_does_not_export():
    def to_numpy(x):
        return torch.from_numpy(x.numpy() * 2)

    with pytest.raises(unmess.Error, match="cannot capture the model") as caught:
        unmess.capture(to_numpy, (torch.ones(2),), strategy="non-strict")
    assert caught.value.stage == "capture"
    assert caught.value.where == f"{__file__}:{to_numpy.__code__.co_firstlineno + 1}"


def test_error_names_the_unsupported_operator():
    program = unmess.capture(
        lambda x: torch.ops.aten.as_strided(x, (2,), (2,)), (torch.ones(2, 4)[:, ::2],)
    )
    with pytest.raises(unmess.Error) as caught:
        unmess.lower(program, to="raw")
    assert caught.value.stage == "import"
    assert caught.value.cause == (
        "aten.as_strided.default has no form in the torch dialect: only calls with static sizes "
        "are supported, on tensors whose elements fill their memory"
    )


def test_later_failure_keeps_the_hint_of_the_first_strategy():
    def branch(x):
        if x.sum() > 0:
            return torch.ops.aten.as_strided(x, (2,), (2,))
        return x * 3

    with pytest.raises(unmess.Error) as caught:
        unmess.lower(unmess.capture(branch, (torch.ones(2, 4)[:, ::2],)))
    assert caught.value.stage == "import"
    assert caught.value.where == f"{__file__}:{branch.__code__.co_firstlineno + 2}"
    assert "torch.where or torch.cond" in caught.value.hint


def test_unknown_stage_weights_and_runner():
    program = unmess.capture(torch.nn.ReLU(), (torch.ones(1),))
    for action, message in (
        (lambda: unmess.lower(program, to="llvm"), "unknown stage 'llvm'"),
        (lambda: unmess.lower(program, weights="none"), "unknown weights 'none'"),
        (lambda: unmess.load(program, on="gpu"), "unknown runner 'gpu'"),
        (lambda: unmess.load("model"), "unknown model 'model'"),
        (lambda: unmess.load(3), "cannot load a int"),
        (lambda: unmess.load(unmess.lower(program, weights="elide")), "without its weights"),
    ):
        with pytest.raises(unmess.Error, match=message) as caught:
            action()
        assert caught.value.exit_status == 2
        assert caught.value.hint


def test_module_lowers_in_steps_but_not_backwards():
    from pipelines.lower import lower

    module = unmess.lower(unmess.capture(torch.nn.ReLU(), (torch.ones(2),)), to="torch")
    lower(module, "linalg")
    assert module.stage == "linalg" and "linalg.generic" in str(module)
    with pytest.raises(unmess.Error, match=r"cannot lower a module at stage .* to tosa"):
        lower(module, "tosa")


def test_lowering_error_has_operator_line_and_reproducer(tmp_path, monkeypatch):
    monkeypatch.setenv("UNMESS_CACHE", str(tmp_path))

    def function(x):
        return torch.linalg.eigvals(x).abs()

    with pytest.raises(unmess.Error) as caught:
        unmess.lower(unmess.capture(function, (torch.eye(8),)), to="tosa")
    error = caught.value
    assert error.stage in ("torch", "tosa")
    assert "aten.linalg_eig" in error.cause
    assert error.where == f"{__file__}:{function.__code__.co_firstlineno + 1}"
    assert Path(error.repro).read_text().startswith("// torch-mlir-opt --pass-pipeline=")


class Recurrent(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = torch.zeros(2)

    def forward(self, x):
        self.hidden = self.hidden + x
        return self.hidden


def test_the_error_names_state_that_the_last_attempt_found(monkeypatch):
    monkeypatch.setattr(strategies, "_REFINEMENTS", 1)
    with pytest.raises(unmess.Error, match="state after 1 attempts: hidden") as caught:
        unmess.capture(Recurrent(), (torch.ones(2),))
    assert caught.value.stage == "capture"


class Writes(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("scale", torch.ones(4))

    def forward(self, x, y):
        x.add_(1)
        return y * self.scale


@pytest.mark.parametrize(
    "aliases",
    [
        lambda model: (model.scale + 1,) * 2,
        lambda _model: (base := torch.ones(2, 4), base[0]),
        lambda model: (model.scale, torch.ones(4)),
    ],
    ids=["the same tensor", "a view", "a buffer"],
)
def test_writing_an_argument_that_shares_memory_is_an_error(aliases):
    model = Writes()
    with pytest.raises(unmess.Error, match="shares memory with") as caught:
        unmess.capture(model, aliases(model))
    assert caught.value.stage == "capture"


def test_an_argument_beside_a_written_one():
    rows = torch.ones(2, 4)
    run = unmess.load(unmess.capture(Writes(), (rows[0], rows[1])))
    assert torch.equal(run(rows[0], rows[1]), rows[1])


def test_a_capture_imports_no_library_of_other_sources():
    code = (
        "import sys, torch, unmess\n"
        "unmess.capture(torch.nn.Linear(3, 4), (torch.zeros(2, 3),))\n"
        "libraries = 'onnx', 'torchvision', 'transformers', 'iree.compiler', 'torch_mlir.ir'\n"
        "print([name for name in libraries if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.stdout.strip(), done.returncode) == ("[]", 0), done.stderr
