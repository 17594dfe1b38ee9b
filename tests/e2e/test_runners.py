"""Tests that every runner must pass, compared with eager PyTorch."""

import collections

import pytest
import torch

import unmess

RUNNERS = ("reference", "iree-cpu")


@pytest.fixture(params=RUNNERS)
def runner(request):
    return request.param


def both(model, *args, runner, **kwargs):
    """Returns the model's result in eager and on the runner."""
    program = unmess.capture(model, args, kwargs)
    with torch.no_grad():
        expected = model(*args, **kwargs)
    return expected, unmess.load(program, on=runner)(*args, **kwargs)


DTYPES = [
    torch.bool,
    torch.uint8,
    torch.int8,
    torch.int16,
    torch.int32,
    torch.int64,
    torch.float16,
    torch.bfloat16,
    torch.float32,
    torch.float64,
]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_dtype_in_and_out(dtype, runner):
    x = torch.tensor([[0, 1, 1], [1, 0, 3]]).to(dtype)
    expected, actual = both(lambda x: x.transpose(0, 1), x, runner=runner)
    assert actual.dtype == dtype
    assert torch.equal(actual, expected)


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64], ids=str)
def test_integer_arithmetic_is_exact(dtype, runner):
    a = torch.tensor([7, -7, 2**30, -(2**30)], dtype=dtype)
    b = torch.tensor([2, 2, 3, -3], dtype=dtype)
    expected, actual = both(lambda a, b: (a * b, a - b, a // b, a % b), a, b, runner=runner)
    for ours, theirs in zip(actual, expected, strict=True):
        assert torch.equal(ours, theirs)


def test_float64_is_not_demoted(runner):
    x = torch.tensor([1.0, 1e-12], dtype=torch.float64)
    expected, actual = both(lambda x: x + 1.0, x, runner=runner)
    assert actual.dtype == torch.float64
    assert torch.equal(actual, expected)
    assert float(actual[1]) != 1.0


def test_complex(runner):
    x = torch.complex(torch.randn(4), torch.randn(4))
    expected, actual = both(lambda x: x * x, x, runner=runner)
    torch.testing.assert_close(actual, expected)


def test_builtin_function(runner):
    x, y = torch.randn(3), torch.randn(3)
    expected, actual = both(torch.add, x, y, runner=runner)
    assert torch.equal(actual, expected)


def test_scalar_tensor_and_empty_tensor(runner):
    scalar, empty = torch.tensor(3.0), torch.empty(0, 4)
    expected, actual = both(lambda s, e: (s * 2, e + 1), scalar, empty, runner=runner)
    assert actual[0].shape == () and float(actual[0]) == float(expected[0])
    assert actual[1].shape == (0, 4)


def test_nested_results_keep_their_containers(runner):
    Pair = collections.namedtuple("Pair", "left right")
    torch.utils._pytree._register_namedtuple(Pair, serialized_type_name="tests.Pair")

    def function(x, options):
        y = x + options["shift"][0]
        return {"pair": Pair(y, [x]), "none": None, "number": 7, "text": "t"}

    x = torch.randn(3)
    expected, actual = both(function, x, {"shift": [torch.ones(3), "unused"]}, runner=runner)
    assert list(actual) == list(expected)
    assert isinstance(actual["pair"], Pair)
    assert torch.equal(actual["pair"].left, expected["pair"].left)
    assert torch.equal(actual["pair"].right[0], x)
    assert (actual["none"], actual["number"], actual["text"]) == (None, 7, "t")


def test_result_that_is_an_input_is_a_new_tensor(runner):
    x = torch.randn(5)
    expected, actual = both(lambda x: (x, x, x.view(5, 1)), x, runner=runner)
    assert torch.equal(actual[0], x) and torch.equal(actual[2], expected[2])
    actual[0].zero_()
    assert x.abs().sum() > 0


def test_result_that_is_a_weight_or_a_constant(runner):
    class Module(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.randn(100))

        def forward(self, x):
            return self.weight, torch.tensor([1.0, 2.0]), x + 1

    model = Module()
    before = model.weight.detach().clone()
    expected, actual = both(model, torch.randn(2), runner=runner)
    for ours, theirs in zip(actual, expected, strict=True):
        assert torch.equal(ours, theirs)
    actual[0].zero_()
    assert torch.equal(model.weight, before)


def test_inputs_are_not_written(runner):
    def function(x):
        x.add_(1)
        return x * 2

    x = torch.zeros(3)
    program = unmess.capture(function, (torch.zeros(3),))
    run = unmess.load(program, on=runner)
    assert torch.equal(run(x), torch.full((3,), 2.0))
    assert torch.equal(x, torch.zeros(3))
    assert torch.equal(run.state["x"], torch.ones(3))


def test_non_contiguous_inputs_and_weights(runner):
    class Module(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("weight", torch.randn(6, 5).t())

        def forward(self, x):
            return x @ self.weight

    model = Module()
    x = torch.randn(6, 5)
    program = unmess.capture(model, (torch.randn(5, 5),))
    run = unmess.load(program, on=runner)
    view = x.t()[:, :5]
    torch.testing.assert_close(run(view.contiguous()), model(view))
    torch.testing.assert_close(run(view), model(view))


def test_state_advances_like_the_models_own(runner):
    class Counter(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("total", torch.zeros(2))

        def forward(self, x):
            self.total += x
            return self.total * 2

    model = Counter()
    program = unmess.capture(model, (torch.ones(2),))
    run = unmess.load(program, on=runner)
    assert torch.equal(model.total, torch.zeros(2)), "loading must not advance the model"
    for step in range(3):
        x = torch.full((2,), float(step))
        assert torch.equal(run(x), model(x))
        assert torch.equal(run.state["total"], model.total)


def test_tied_weights_are_bound_once(runner):
    class Tied(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = torch.nn.Embedding(11, 4)
            self.head = torch.nn.Linear(4, 11, bias=False)
            self.head.weight = self.embedding.weight

        def forward(self, tokens):
            return self.head(self.embedding(tokens))

    model = Tied().eval()
    tokens = torch.tensor([[1, 10, 3]])
    program = unmess.capture(model, (tokens,))
    assert len(program.weights) == 1
    assert len(program.tied) == 1
    (weight,) = program.weights.values()
    assert weight.data_ptr() == model.embedding.weight.data_ptr(), "weights are borrowed"
    torch.testing.assert_close(unmess.load(program, on=runner)(tokens), model(tokens))


def test_keyword_and_positional_calls_are_the_same(runner):
    def function(x, y, scale=2.0):
        return x * scale - y

    x, y = torch.randn(3), torch.randn(3)
    program = unmess.capture(function, (x,), {"y": y})
    run = unmess.load(program, on=runner)
    expected = function(x, y)
    for actual in (run(x, y=y), run(x, y), run(x=x, y=y), run(y=y, x=x)):
        torch.testing.assert_close(actual, expected)


def test_dynamic_batch(runner):
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.GELU(), torch.nn.Linear(8, 2))
    batch = torch.export.Dim("batch", min=2, max=16)
    program = unmess.capture(model, (torch.randn(3, 4),), dynamic_shapes=({0: batch},))
    run = unmess.load(program, on=runner)
    for size in (2, 5, 16):
        x = torch.randn(size, 4)
        torch.testing.assert_close(run(x), model(x), atol=1e-5, rtol=1e-5)
    for size in (1, 17):
        with pytest.raises(unmess.Error, match="expected 2 to 16"):
            run(torch.randn(size, 4))


CALLS = {
    "too few": (lambda x, y: (x,), "does not match the captured call"),
    "too many": (lambda x, y: (x, y, x), "does not match the captured call"),
    "shape": (lambda x, y: (x[:2], y), r"x.shape\[0\] is 2, expected 3"),
    "rank": (lambda x, y: (x[None], y), "has rank 2, expected 1"),
    "dtype": (lambda x, y: (x.double(), y), "has dtype torch.float64, expected torch.float32"),
    "type": (lambda x, y: (3, y), "is a int, expected a tensor"),
    "device": (lambda x, y: (x.to("meta"), y), "is on meta, expected cpu"),
    "nesting": (lambda x, y: ([x], y), "the nesting or the container types"),
}


@pytest.mark.parametrize("case", CALLS)
def test_a_call_that_does_not_fit(case, runner):
    make, message = CALLS[case]
    x, y = torch.randn(3), torch.randn(3)
    run = unmess.load(unmess.capture(lambda x, y: x + y, (x, y)), on=runner)
    with pytest.raises(unmess.Error, match=message) as caught:
        run(*make(x, y))
    assert caught.value.stage == "run"
    assert caught.value.hint
    torch.testing.assert_close(run(x, y), x + y)


OPERATIONS = {
    "sort": lambda x: torch.sort(x, dim=1),
    # IREE does not compile the slice in the dispatch of the sort.
    "sort of a slice": lambda x: torch.sort(x[:, 1:6], dim=1),
    "topk": lambda x: torch.topk(x, 3, dim=1),
    "cumsum": lambda x: torch.cumsum(x, dim=0),
    "argmax": lambda x: x.argmax(1),
    "softmax": lambda x: torch.softmax(x, dim=-1),
    "layer norm": lambda x: torch.nn.functional.layer_norm(x, (7,)),
    "scatter add": lambda x: torch.zeros(5, 7).scatter_add(0, torch.arange(35).view(5, 7) % 5, x),
    "index put": lambda x: x.index_put((torch.tensor([0, 2]),), torch.ones(2, 7)),
    "gather": lambda x: x.gather(1, torch.tensor([[0, 6], [1, 5], [2, 4], [3, 3], [4, 2]])),
    "attention": lambda x: torch.nn.functional.scaled_dot_product_attention(
        x.view(1, 1, 5, 7), x.view(1, 1, 5, 7), x.view(1, 1, 5, 7)
    ),
    "conv1d": lambda x: torch.nn.functional.conv1d(x[None], torch.ones(3, 5, 2)),
    "pad": lambda x: torch.nn.functional.pad(x, (1, 2), value=3.0),
    "cat": lambda x: torch.cat([x, x * 2], dim=1),
    "erf tanh pow": lambda x: torch.erf(x) + torch.tanh(x) + x.abs() ** 2.5,
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_operation(name, runner):
    torch.manual_seed(0)
    x = torch.randn(5, 7)
    expected, actual = both(OPERATIONS[name], x, runner=runner)
    expected = expected if isinstance(expected, tuple) else (expected,)
    actual = actual if isinstance(actual, tuple) else (actual,)
    for ours, theirs in zip(actual, expected, strict=True):
        torch.testing.assert_close(ours, theirs, atol=2e-6, rtol=2e-6)
