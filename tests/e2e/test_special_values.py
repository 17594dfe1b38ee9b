"""NaN, infinity and digits of f64 survive each output dialect, on both runners."""

import functools

import pytest
import torch
import torch.nn.functional as F

import unmess

NAN, INF = torch.nan, torch.inf
VALUES = (0.0, -0.0, 1.0, -1.0, 0.5, 2.5, -2.5, 3.5, INF, -INF, NAN, 1e-3, 7.0, -7.0, 5e37, -5e37)
# Quotients of these are small enough to be exact.
SMALL = tuple(each for each in VALUES if abs(each) != 5e37)
# Functions without a lowering to TOSA.
NOT_IN_TOSA = {"sinh", "cosh", "asin", "acos", "atanh", "signbit", "copysign", "sort"}
NOT_IN_TOSA_F64 = {"atan", "acosh", "atan2", "topk", "pool"}


def _named(namespace, names):
    return {name: getattr(namespace, name) for name in names.split()}


UNARY = {
    **_named(
        torch,
        "abs neg sign sqrt rsqrt exp exp2 expm1 log log1p log2 log10 sin cos tan tanh sinh cosh "
        "asin acos atan asinh acosh atanh sigmoid erf erfc floor ceil round trunc frac reciprocal "
        "square isnan isinf isfinite signbit relu nan_to_num logical_not",
    ),
    **_named(
        F,
        "relu6 gelu silu mish softplus softsign hardswish hardsigmoid hardtanh elu selu celu "
        "leaky_relu logsigmoid tanhshrink softshrink hardshrink",
    ),
    "times zero": lambda x: x * 0.0,
    "clamp": lambda x: x.clamp(-2, 3),
    "to int32": lambda x: x.nan_to_num(0, 9, -9).clamp(-9, 9).to(torch.int32),
}
BINARY = {
    **_named(
        torch,
        "add sub mul div maximum minimum fmax fmin pow atan2 eq ne lt le gt ge copysign hypot "
        "logaddexp logical_and logical_or xlogy",
    ),
    "where": lambda x, y: torch.where(x > y, x, y),
    "clamp": lambda x, y: x.clamp(min=y),
}
DIVISIONS = {
    **_named(torch, "fmod remainder"),
    "floor": functools.partial(torch.div, rounding_mode="floor"),
    "trunc": functools.partial(torch.div, rounding_mode="trunc"),
}
REDUCTIONS = {
    **_named(
        torch,
        "sum mean prod amax amin argmax argmin max min var cumsum softmax log_softmax sort",
    ),
    "logsumexp": lambda x, axis: x.logsumexp(axis),
    "topk": lambda x, axis: x.topk(5, axis),
    "pool": lambda x, axis: F.max_pool2d(x[None, None], 3, 1, 1),
    "product": lambda x, axis: x @ x.T,
}


class Functions(torch.nn.Module):
    """Returns the results of all functions, by their names."""

    def __init__(self, left_out):
        super().__init__()
        self.left_out = left_out

    def forward(self, x, y, small, divisor, rows):
        arguments = (
            (UNARY, (x,)),
            (BINARY, (x, y)),
            (DIVISIONS, (small, divisor)),
            (REDUCTIONS, (rows, 1)),
        )
        return [
            {name: f(*args) for name, f in functions.items() if name not in self.left_out}
            for functions, args in arguments
        ]


def _inputs(dtype):
    def tensor(values):
        return torch.tensor(values, dtype=dtype)

    small = len(SMALL) // 2
    return (
        tensor(VALUES),
        tensor(VALUES[5:] + VALUES[:5]),
        tensor(SMALL),
        tensor(SMALL[small:] + SMALL[:small]),
        torch.stack([tensor(SMALL).roll(places) for places in range(4)]),
    )


@functools.cache
def _captured(dtype, left_out):
    return unmess.capture(Functions(left_out), _inputs(dtype))


@pytest.mark.parametrize("runner", ["reference", "iree-cpu"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("dialect", ["linalg", "tosa", "stablehlo"])
def test_special_values(dialect, dtype, runner):
    inputs = _inputs(dtype)
    left_out = frozenset(NOT_IN_TOSA if dialect == "tosa" else ())
    if dialect == "tosa" and dtype == torch.float64:
        left_out = left_out | NOT_IN_TOSA_F64
    model = Functions(left_out)
    module = unmess.lower(_captured(dtype, left_out), to=dialect)
    results = unmess.load(module, on=runner)(*(each.clone() for each in inputs))
    # On CPUs with instructions for bf16, the GELU of oneDNN is NaN for infinity.
    with torch.backends.mkldnn.flags(enabled=False):
        expectations = model(*inputs)
    wrong = {}
    for ours, theirs in zip(results, expectations, strict=True):
        for name, expected in theirs.items():
            try:
                torch.testing.assert_close(
                    torch.utils._pytree.tree_leaves(ours[name]),
                    torch.utils._pytree.tree_leaves(expected),
                    equal_nan=True,
                )
            except AssertionError as difference:
                wrong[name] = str(difference)
    assert not wrong, "\n".join(f"{name}: {text}" for name, text in wrong.items())


# Numbers in these functions have no exact f32 value.
SCALARS = {
    "add": lambda x: x + 0.1,
    "sub": lambda x: x - 0.1,
    "rsub": lambda x: 0.1 - x,
    "mul": lambda x: x * 0.1,
    "div": lambda x: x / 0.3,
    "quotient": lambda x: 0.1 / x,
    "less": lambda x: x < 0.1,
    "equal": lambda x: x == 0.1,
    "power": lambda x: x.abs() ** 0.3,
    "power of a number": lambda x: 0.3**x,
    "fmod": lambda x: torch.fmod(x, 0.3),
    "remainder": lambda x: x % 0.3,
    "sum of products": lambda x: torch.add(x, x * x, alpha=0.1),
    "addmm": lambda x: torch.addmm(x, x, x, alpha=0.1, beta=0.3),
    "clamp": lambda x: x.clamp(-0.1, 0.3),
    "full": lambda x: torch.full_like(x, 0.1),
    "where": lambda x: torch.where(x > 0, x, 0.1),
    "arange": lambda x: torch.arange(0, 0.8, 0.1, dtype=torch.float64) + x,
    "log2": lambda x: x.abs().log2(),
    "gelu": F.gelu,
    "gelu with tanh": lambda x: F.gelu(x, approximate="tanh"),
    "leaky_relu": lambda x: F.leaky_relu(x, 0.1),
    "softplus": lambda x: F.softplus(x, 0.7),
    "softshrink": lambda x: F.softshrink(x, 0.3),
    "layer_norm": lambda x: F.layer_norm(x, (8,)),
    "attention": lambda x: F.scaled_dot_product_attention(x[None], x[None], x[None]),
}


@pytest.mark.parametrize("dialect", ["linalg", "tosa", "stablehlo"])
def test_scalars_keep_the_digits_of_f64(dialect):
    def model(x):
        return {name: function(x) for name, function in SCALARS.items()}

    x = torch.linspace(-2, 2, 64, dtype=torch.float64).reshape(8, 8)
    x[0, 0] = 0.1
    run = unmess.load(unmess.lower(unmess.capture(model, (x,)), to=dialect), on="reference")
    torch.testing.assert_close(run(x), model(x), rtol=1e-13, atol=1e-14)


DTYPES = [torch.float32, torch.float64, torch.float16, torch.bfloat16]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("dialect", ["linalg", "tosa", "stablehlo"])
def test_results_close_to_zero(dialect, dtype):
    """Computed as exp(x) - 1 or log(1 + x), results near zero would have no correct digit."""

    def model(x):
        return (
            x.expm1(),
            x.log1p(),
            F.elu(x),
            F.softplus(-x.abs() * 100),
            torch.asinh(x),
            x.tan(),
            x.to(torch.float16 if x.dtype == torch.bfloat16 else torch.bfloat16),
        )

    x = torch.logspace(-30, 1.5, 400)
    x = torch.cat([x, -x, torch.tensor([0.0, -1.0, INF, -INF, NAN])]).to(dtype)
    run = unmess.load(unmess.lower(unmess.capture(model, (x,)), to=dialect), on="reference")
    for ours, theirs in zip(run(x), model(x), strict=True):
        smallest = torch.finfo(ours.dtype).smallest_normal
        rounding = 16 * torch.finfo(ours.dtype).eps
        torch.testing.assert_close(ours, theirs, rtol=rounding, atol=smallest, equal_nan=True)


@pytest.mark.parametrize("runner", ["reference", "iree-cpu"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_rounded_quotients_at_tosa(dtype, runner):
    """A quotient slightly below an integer changes by one if it is rounded."""

    def model(x, y):
        truncated = torch.div(x, y, rounding_mode="trunc")
        rounded = (x / y).floor(), (x / 49).ceil(), (x / 0.7).round(), (x / y).to(torch.int64)
        return truncated, *rounded, torch.div(x, 49, rounding_mode="trunc")

    x = torch.arange(1, 250)
    y = torch.cat([x[:120], torch.full((129,), 7)])
    x, y = (torch.cat([x, -x]).to(dtype), torch.cat([y, y]).to(dtype))
    module = unmess.lower(unmess.capture(model, (x, y)), to="tosa")
    for ours, theirs in zip(unmess.load(module, on=runner)(x, y), model(x, y), strict=True):
        if dtype == torch.bfloat16 and runner == "iree-cpu":
            # IREE does not round the quotient to bf16 before it is rounded to an integer.
            assert (ours - theirs).abs().max() <= 2
        else:
            assert torch.equal(ours, theirs)


@pytest.mark.parametrize("dtype", DTYPES)
def test_remainders_at_tosa_are_exact(dtype):
    """Near a multiple of the divisor, a quotient that is off by one changes the whole result."""

    def model(x, y):
        return torch.fmod(x, y), torch.remainder(x, y), x % 0.1, torch.fmod(x, 0.3), x % 1.0

    generator = torch.Generator().manual_seed(0)
    x = torch.randn(2000, generator=generator) * 30
    y = torch.randn(2000, generator=generator)
    multiples = y.to(dtype) * torch.randint(1, 300, (2000,), generator=generator)
    x = torch.cat([x.to(dtype), multiples.to(dtype), torch.tensor([0.5, 1.0], dtype=dtype)])
    y = torch.cat([y, y, torch.tensor([0.001, 0.1])]).to(dtype)
    module = unmess.lower(unmess.capture(model, (x, y)), to="tosa")
    results = unmess.load(module, on="reference")(x, y)
    torch.testing.assert_close(list(results), list(model(x, y)), rtol=0, atol=0)


@pytest.mark.parametrize("dialect", ["linalg", "tosa", "stablehlo"])
def test_sums_of_large_integers(dialect):
    def model(x, y, z):
        return (
            (x + y, x - y, -x, x + 1, x - 2**40, 2**40 - x, torch.add(x, y, alpha=3)),
            (x[:, None] + y, x + z, z - x, (x > 0) + y, x.sum() - y, x * y, x // 7, x % 1000),
        )

    x = torch.tensor([2**40, -5, 2**62])
    arguments = x, torch.tensor([3, 2**35, -(2**50)]), torch.tensor([1, -2, 3], dtype=torch.int32)
    module = unmess.lower(unmess.capture(model, arguments), to=dialect)
    results = unmess.load(module, on="reference")(*(each.clone() for each in arguments))
    torch.testing.assert_close(results, model(*arguments))
