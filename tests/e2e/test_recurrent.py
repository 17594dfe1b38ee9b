"""Recurrent layers with all options are loops that compute what eager PyTorch computes."""

import functools

import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import PackedSequence

import unmess

RUNNERS = ("reference", "iree-cpu")


class Layers(nn.Module):
    """Layers that together use every option. The dropout has no effect in inference."""

    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(4, 5, 2, batch_first=True, bidirectional=True, dropout=0.5)
        self.projected = nn.LSTM(4, 5, proj_size=3, bias=False, bidirectional=True)
        self.gru = nn.GRU(4, 5, 2, bidirectional=True)
        self.plain = nn.GRU(4, 5, bias=False)
        self.rnn = nn.RNN(4, 5, batch_first=True)
        self.relu = nn.RNN(4, 5, nonlinearity="relu")

    def forward(self, x, state):
        by_batch = x.transpose(0, 1)
        return (
            self.lstm(by_batch, (state.repeat(4, 1, 1), state.expand(4, -1, -1))),
            self.projected(x),
            self.gru(x),
            self.plain(x, state),
            self.rnn(by_batch, state),
            self.relu(x),
        )


def inputs(steps, batch=2, dtype=torch.float32):
    torch.manual_seed(steps)
    return torch.randn(steps, batch, 4, dtype=dtype), torch.randn(1, batch, 5, dtype=dtype)


def assert_like_eager(run, model, args):
    with torch.no_grad():
        torch.testing.assert_close(run(*args), model(*args), rtol=1e-5, atol=2e-6)


# Each program is captured once, for all runners and dialects.
@functools.cache
def static_layers():
    model = Layers().eval()
    return model, unmess.capture(model, inputs(3))


@functools.cache
def dynamic_layers():
    model = Layers().eval()
    steps, batch = torch.export.Dim("steps"), torch.export.Dim("batch")
    dynamic_shapes = ({0: steps, 1: batch}, {1: batch})
    return model, unmess.capture(model, inputs(3), dynamic_shapes=dynamic_shapes)


@pytest.mark.parametrize("runner", RUNNERS)
def test_every_option(runner):
    model, program = static_layers()
    assert_like_eager(unmess.load(program, on=runner), model, inputs(3))


@pytest.mark.parametrize("runner", RUNNERS)
def test_dynamic_steps_and_batch(runner):
    model, program = dynamic_layers()
    run = unmess.load(program, on=runner)
    for args in (inputs(3), inputs(1, 1), inputs(9, 3)):
        assert_like_eager(run, model, args)


# On iree-cpu, the loop is one kernel. Its tiles depend on the sizes: one row, several tiles of
# columns, vectors that are not full, and f64.
@pytest.mark.parametrize(
    ("kind", "batch", "size", "dtype"),
    [
        (nn.LSTM, 1, 37, torch.float32),
        (nn.LSTM, 7, 12, torch.float64),
        (nn.GRU, 2, 101, torch.float32),
        (nn.GRU, 1, 2, torch.float64),
        (nn.RNN, 12, 64, torch.float32),
        (nn.RNN, 1, 200, torch.float32),
    ],
)
def test_sizes_of_a_step(kind, batch, size, dtype):
    torch.manual_seed(0)
    model = kind(4, size, 2).eval().to(dtype)
    x, _ = inputs(5, batch, dtype)
    program = unmess.capture(model, (x,), dynamic_shapes=({0: torch.export.Dim("steps")},))
    run = unmess.load(program, on="iree-cpu")
    for steps in (5, 1, 8):
        assert_like_eager(run, model, inputs(steps, batch, dtype)[:1])


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.bfloat16])
def test_other_dtypes(dtype):
    model = Layers().eval().to(dtype)
    report = unmess.check(unmess.capture(model, inputs(5, dtype=dtype)), on="reference")
    assert report.ok, report.error


@pytest.mark.parametrize("dialect", ["tosa", "stablehlo"])
def test_loops_of_other_dialects(dialect):
    model, program = static_layers()
    module = unmess.lower(program, to=dialect)
    assert_like_eager(unmess.load(module, on="reference"), model, inputs(3))


class Packed(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(4, 5, 2, bidirectional=True)
        self.gru = nn.GRU(4, 5, bidirectional=True)
        self.rnn = nn.RNN(4, 5)

    def forward(self, data, batch_sizes):
        packed = PackedSequence(data, batch_sizes)
        results = [layer(packed) for layer in (self.lstm, self.gru, self.rnn)]
        return [(sequences.data, state) for sequences, state in results]


@functools.cache
def packed_layers():
    model, data = Packed().eval(), torch.randn(7, 4)
    return model, data, unmess.capture(model, (data, torch.tensor([3, 2, 1, 1])))


@pytest.mark.parametrize("runner", RUNNERS)
def test_packed_sequences(runner):
    model, data, program = packed_layers()
    run = unmess.load(program, on=runner)
    for batch_sizes in ([3, 2, 1, 1], [4, 1, 1, 1], [2, 2, 2, 1]):
        assert_like_eager(run, model, (data, torch.tensor(batch_sizes)))


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU])
def test_the_size_of_the_ir_does_not_depend_on_the_steps(kind):
    model = kind(4, 5).eval()
    few, many = (
        str(unmess.lower(unmess.capture(model, (torch.randn(steps, 2, 4),)), to="linalg"))
        for steps in (3, 300)
    )
    assert len(few.splitlines()) == len(many.splitlines())


def test_no_steps_are_an_error():
    with pytest.raises(unmess.Error, match="sequence length to be larger than 0"):
        unmess.capture(nn.GRU(4, 5), (torch.zeros(0, 2, 4),))


def test_weights_of_a_layer_are_not_state():
    program = unmess.capture(nn.GRU(4, 5).eval(), (torch.randn(3, 2, 4),))
    assert not any("state that the model writes" in note.text for note in program.notes)
