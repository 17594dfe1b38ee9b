"""Comparisons with eager PyTorch detect wrong results and accept right ones."""

import pytest
import torch

import unmess
from unmess.compare import compare, compare_results
from unmess.core.program.eager import Float64Reference


class Fake:
    """An executable that returns the result of a function of the test."""

    runner = "fake"
    notes = ()

    def __init__(self, function, state=None):
        self.function = function
        self.state = state or {}
        self.seconds = {}
        self.tolerances = {}

    def __call__(self, *args, **kwargs):
        return self.function(*args, **kwargs)


def report(model, wrong, *args, state=None):
    return compare(unmess.capture(model, args), Fake(wrong, state), calls=1)


def double(x):
    return {"y": x * 2, "n": 3}


X = torch.linspace(-1, 1, 11)


def test_the_right_result_is_ok():
    found = report(double, double, X)
    assert found.ok and found.error is None and found.max_abs_error == 0
    assert set(found.seconds) == {"run", "eager"}


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda x: {"y": x * 2.0001, "n": 3}, "differs by"),
        (lambda x: {"y": (x * 2).double(), "n": 3}, "dtype torch.float64, eager gives"),
        (lambda x: {"y": (x * 2)[:5], "n": 3}, "shape"),
        (lambda x: {"y": x * 2, "n": 4}, "4, eager gives 3"),
        (lambda x: {"y": x * 2, "n": 3.0}, "3.0, eager gives 3"),
        (lambda x: {"y": x * 2}, "the structure of the result differs"),
        (lambda x: [x * 2, 3], "the structure of the result differs"),
        (lambda x: {"y": torch.where(x > 0.9, torch.nan, x * 2), "n": 3}, "NaN or infinity"),
        (lambda x: {"y": torch.where(x > 0.9, torch.inf, x * 2), "n": 3}, "NaN or infinity"),
    ],
)
def test_a_wrong_result_is_not_ok(wrong, message):
    found = report(double, wrong, X)
    assert not found.ok
    assert message in found.error


def test_small_results_are_compared_relative_to_their_size():
    found = report(lambda x: x * 1e-20, lambda x: x * 1.1e-20, X)
    assert not found.ok


def test_nan_and_infinity_where_eager_has_them_are_right():
    def special(x):
        return torch.stack([x / 0, -x / 0, x * 0 / 0])

    assert report(special, special, X).ok
    assert not report(special, lambda x: special(-x), X).ok


def test_nan_in_8_bits_is_right_where_eager_has_it():
    def special(x):
        return torch.where(x > 0.5, torch.nan, x).to(torch.float8_e5m2)

    assert report(special, special, X).ok
    found = report(special, lambda x: x.to(torch.float8_e5m2), X)
    assert found.error == "result: 3 of 11 elements differ from eager's"


def test_the_reason_for_no_float64_result_is_reported():
    class Narrow(torch.nn.Module):
        def forward(self, x):
            if x.dtype != torch.float32:
                raise RuntimeError("float32 only")
            return x.sum()

    found = report(Narrow(), lambda x: x.sum() * 1.1, X)
    assert "(allowed 1e-05) (no float64 result: RuntimeError: float32 only)" in found.error
    assert "no float64 result" not in report(lambda x: x * 2, lambda x: x * 3, X).error


def test_integers_are_compared_exactly():
    x = torch.tensor([2**53, 1])
    assert not report(lambda x: x + 1, lambda x: x + torch.tensor([0, 1]), x).ok


def test_a_changed_argument_is_an_error():
    def sorts_in_place(x, scale):
        result = x * scale
        x.copy_(x.sort(descending=True).values)
        return result

    program = unmess.capture(lambda x, scale: x * scale, (X,), {"scale": X + 1})
    found = compare(program, Fake(sorts_in_place), calls=1)
    assert found.error == "argument[0]: the call has changed it"
    found = compare(program, Fake(lambda x, scale: x * scale.add_(1).sub_(1)), calls=1)
    assert found.ok
    found = compare(program, Fake(lambda x, scale: x * scale.add_(1).sub(1)), calls=1)
    assert found.error == "argument['scale']: the call has changed it"


def test_an_argument_that_the_model_writes_is_not_to_be_changed():
    def advance(x):
        x.add_(1)
        return x * 2

    assert report(advance, lambda x: (x + 1) * 2, X.clone()).ok
    assert report(advance, advance, X.clone()).error == "argument[0]: the call has changed it"


def test_state_is_compared():
    class Counter(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("n", torch.zeros(1))

        def forward(self, x):
            self.n.add_(1)
            return x * 2

    model = Counter()
    assert report(model, lambda x: x * 2, X, state={"n": torch.ones(1)}).ok
    found = report(model, lambda x: x * 2, X, state={"n": torch.zeros(1)})
    assert not found.ok and found.error.startswith("state['n']")
    assert model.n.item() == 0, "comparing must not advance the model"


@pytest.mark.parametrize("dtype", [None, torch.float32])
def test_float64_result_tells_rounding_from_errors(dtype):
    class Sum(torch.nn.Module):
        def forward(self, x):
            # A model may narrow its result: Keypoint R-CNN has f32 scores for any weight dtype.
            return x.sum().to(dtype or x.dtype)

    torch.manual_seed(0)
    x = torch.randn(100_000) * 1e4
    x[0] -= x.double().sum().float()  # nearly cancels: the result has few exact digits

    def other_order(x):
        return x.flip(0).cumsum(0)[-1]

    exact = x.double().sum()
    eager_error = abs(float(x.sum().double() - exact))
    found = report(Sum(), lambda x: (exact + 2 * eager_error).float(), x)
    assert found.ok
    found = report(Sum(), lambda x: (exact + 50 * eager_error).float(), x)
    assert not found.ok and "from the float64 result" in found.error


def test_a_model_that_fails_in_eager_is_an_error_with_its_line():
    calls = []

    def fails_later(x):
        if len(calls) > 0 and not torch.compiler.is_exporting():
            raise RuntimeError("no more")
        return x * 2

    program = unmess.capture(fails_later, (X,))
    calls.append(1)
    with pytest.raises(
        unmess.Error, match="fails in eager PyTorch: RuntimeError: no more"
    ) as caught:
        compare(program, Fake(fails_later), calls=1)
    line = fails_later.__code__.co_firstlineno + 2
    assert caught.value.where == f"{__file__}:{line}"


def test_python_state_between_calls_is_detected():
    class Counter(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.calls = 0

        def forward(self, x):
            self.calls += 1
            return x * self.calls

    found = report(Counter(), lambda x: x * 1, X)
    assert not found.ok
    assert found.error.startswith("result of call 2: differs by")
    assert "keeps state outside of buffers" in found.error


DYNAMIC = ({0: torch.export.Dim("rows", min=2, max=9), 1: torch.export.Dim("columns")},)


def report_sizes(model, function):
    program = unmess.capture(model, (torch.randn(3, 4),), dynamic_shapes=DYNAMIC)
    return compare(program, Fake(function), calls=1)


def test_dynamic_dimensions_are_compared_at_two_further_sizes():
    shapes = []
    found = report_sizes(lambda x: x * 2, lambda x: shapes.append(tuple(x.shape)) or x * 2)
    assert found.ok
    assert [check.sizes for check in found.sizes] == [
        {"rows": 4, "columns": 5},
        {"rows": 2, "columns": 1},
    ]
    assert shapes[-2:] == [(4, 5), (2, 1)]
    assert str(found.notes[-1]) == "sizes: rows=2, columns=1: matches eager"


def test_a_difference_at_a_further_size_only_is_detected():
    found = report_sizes(lambda x: x * 2, lambda x: x * (2 if len(x) == 3 else 3))
    assert not found.ok
    assert [check.ok for check in found.sizes] == [False, False]
    assert found.error.startswith("result at rows=4, columns=5: differs by")

    def refuses(x):
        if len(x) != 3:
            raise unmess.Error("run", "no")
        return x * 2

    assert report_sizes(lambda x: x * 2, refuses).error == "call at rows=4, columns=5: no"


def test_sizes_that_eager_refuses():
    def fussy(x):
        if not torch.compiler.is_exporting() and len(x) == 4:
            raise RuntimeError("never four")
        return x * 2

    found = report_sizes(fussy, lambda x: x * 2)
    assert not found.ok
    assert [check.ok for check in found.sizes] == [False, True]
    assert found.error.startswith("call with rows=4, columns=5: eager raises an exception, but")

    def refuses(x):
        if len(x) == 4:
            raise unmess.Error("run", "no")
        return x * 2

    found = report_sizes(fussy, refuses)
    assert found.ok
    assert [check.ok for check in found.sizes] == [None, True]
    assert "not compared, the model fails in eager PyTorch: RuntimeError: never four" in str(
        found.notes[-2]
    )


def test_float64_sums_that_cancel_may_leave_a_rounding_error():
    x = torch.tensor([-1.5, -1, -0.5, 0, 0.5, 1, 1.5], dtype=torch.float64)

    class Cancels(torch.nn.Module):
        def forward(self, x, flag, z):
            return x.sum().reshape(1) * -3.3

    for left, ok in ((8.88e-16, True), (1e-13, False)):
        actual = torch.tensor([left], dtype=torch.float64)
        (difference,) = compare_results(Cancels(), (x, torch.tensor(True), x.cfloat()), {}, actual)
        assert difference.ok == ok


class MixedScale(torch.nn.Module):
    """Returns 64 large numbers and 64 small ones."""

    def forward(self, x):
        return torch.stack([x.exp() * 1e6, x.exp() * 1e-3])


NUMBERS = torch.randn(64, generator=torch.Generator().manual_seed(0))


def test_a_wrong_small_element_beside_large_ones_is_wrong():
    def wrong(x):
        result = MixedScale()(x)
        result[1, 5] *= 1.1
        return result

    found = report(MixedScale(), wrong, NUMBERS)
    assert found.max_rel_error < 1e-8
    assert found.max_element_error == pytest.approx(0.1, rel=1e-3)
    assert not found.ok and "element [1, 5]" in found.error
    assert "1 of 128 elements" in found.error


def test_a_rounding_error_of_the_large_elements_is_wrong_in_a_small_one():
    def wrong(x):
        result = MixedScale()(x)
        return torch.where(torch.arange(2)[:, None] == 1, result + 0.01, result)

    assert not report(MixedScale(), wrong, NUMBERS).ok


class Cancelling(torch.nn.Module):
    """Returns differences of nearly equal numbers, some of them 0."""

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.tensor([0.3, 0.7]))

    def forward(self, x):
        scaled = x * self.weight[0] + x * self.weight[1]
        return torch.cat([scaled - x, x * 100])


def test_cancellation_is_not_an_error():
    model = Cancelling()

    def otherwise(x):
        return torch.cat([(x - x * model.weight[0] - x * model.weight[1]).neg(), x * 100])

    found = report(model, otherwise, NUMBERS)
    assert found.max_element_error >= 0.5
    assert found.ok, found.error


def test_a_constant_channel_may_be_zero_or_a_rounding_error():
    """Eager subtracts the mean and gets 0. A fused multiply-add gives a rounding error."""
    constant = torch.full((64,), 0.1)

    class Centered(torch.nn.Module):
        def forward(self, x):
            return (x - x.mean()) * 3

    found = report(
        Centered(), lambda x: torch.addcmul(-3 * x.mean(), x, torch.tensor(3.0)), constant
    )
    assert found.ok, found.error
    assert not report(Centered(), lambda x: Centered()(x) + 1e-3, constant).ok


class FixedDtype(torch.nn.Module):
    """Creates a float32 tensor, whatever the dtype of its weights is."""

    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(3, 3)

    def forward(self, x):
        buffer = torch.zeros(2, 3, dtype=torch.float)
        buffer[:] = x
        return self.linear(buffer) + x.float()


def test_float64_result_of_a_model_with_a_fixed_dtype():
    model, x = FixedDtype(), torch.randn(2, 3)
    exact = Float64Reference(model, (x,), {})
    result = exact.result(0)
    assert exact.problem is None
    wide = x.double()
    expected = torch.nn.functional.linear(
        wide, model.linear.weight.double(), model.linear.bias.double()
    )
    torch.testing.assert_close(result, (expected + wide).detach(), rtol=1e-14, atol=0)
