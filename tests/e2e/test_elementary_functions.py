"""Accuracy in ULPs of elementary functions."""

import math
from pathlib import Path

import pytest
import torch
from torch import nn

import unmess

# Computed in f64 and rounded to f32. atan2, which programs from PyTorch compute with atan, is not.
WIDE = (
    *("acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "log", "log10", "log1p"),
    *("log2", "sin", "sinh", "tan", "exp2", "erfc", "erfinv", "digamma"),
)
# IREE's other functions are its own.
WIDE_ON_IREE = ("asin", "atan", "atanh", "cos", "sin", "sinh", "tan")
# The f32 numbers closest to multiples of π/2, relative to their distance, as (m, e) of m * 2^e.
NEAR_QUARTER_TURNS = (
    *((16367173, 72), (10741887, 11), (16573937, -16), (10057457, 62), (11617958, 17)),
    *((13443411, -8), (8858981, -22)),
)
SPECIAL = [0.0, -0.0, math.inf, -math.inf, math.nan, 1e-45, -1e-40, 3.4e38, -3.4e38]
# Just below and above the arguments at which exp overflows, becomes subnormal, and becomes 0.
BOUNDS = [88.72, 88.73, -87.3, -87.4, -103.9, -104.1]


class Functions(nn.Module):
    def forward(self, x):
        return torch.exp(x), torch.erf(x), torch.tanh(x)


class NextToZero(nn.Module):
    def forward(self, x):
        return torch.expm1(x), torch.log1p(x.abs())


class Powers(nn.Module):
    EXPONENTS = (0.5, 2.0, 3.0, -0.5, -1.0, -2.0, 2.5)

    def forward(self, x):
        powers = [torch.pow(x, exponent) for exponent in self.EXPONENTS]
        return [*powers, 10000.0 ** (x / 100), torch.pow(x.abs(), x)]


def ulps(result: torch.Tensor, exact: torch.Tensor) -> torch.Tensor:
    """Returns distances from float64 values in units in the last place of the nearest float32."""
    nearest = exact.float().abs()
    unit = torch.nextafter(nearest, torch.tensor(math.inf)).double() - nearest.double()
    return (result.double() - exact).abs() / unit


@pytest.fixture(scope="module")
def numbers() -> torch.Tensor:
    return torch.cat(
        [
            torch.linspace(-105, 89, 200_001),
            torch.linspace(-5, 5, 200_001),
            torch.randn(50_000, generator=torch.Generator().manual_seed(0)) * 1e-3,
            torch.tensor(SPECIAL + BOUNDS),
        ]
    )


def test_errors_are_below_a_unit_and_a_half(numbers):
    run = unmess.load(unmess.capture(Functions(), (numbers,)), on="reference")
    exact = Functions()(numbers.double())
    for result, eager, reference in zip(run(numbers), Functions()(numbers), exact, strict=True):
        assert torch.equal(result.isnan(), eager.isnan())
        assert torch.equal(result.isinf(), eager.isinf())
        assert torch.equal(result.nan_to_num().signbit(), eager.nan_to_num().signbit())
        finite = reference.float().isfinite()
        assert ulps(result, reference)[finite].max() < 1.5


def test_next_to_zero(numbers):
    """Computed directly, e^x - 1 and log(1 + x) would have no correct digit near zero."""
    x = torch.cat([numbers, torch.logspace(-20, -1, 2000), -torch.logspace(-20, -1, 2000)])
    exact = NextToZero()(x.double())
    run = unmess.load(unmess.capture(NextToZero(), (x,)), on="reference")
    for result, eager, reference in zip(run(x), NextToZero()(x), exact, strict=True):
        assert torch.equal(result.isnan(), eager.isnan())
        assert torch.equal(result.nan_to_num().signbit(), eager.nan_to_num().signbit())
        finite = reference.float().isfinite()
        assert ulps(result, reference)[finite].max() < 4
    run = unmess.load(unmess.capture(NextToZero(), (x.double(),)), on="reference")
    for result, reference in zip(run(x.double()), exact, strict=True):
        torch.testing.assert_close(result, reference, rtol=1e-15, atol=0, equal_nan=True)


class Wide(nn.Module):
    def __init__(self, names):
        super().__init__()
        self.names = names

    def forward(self, x):
        return [getattr(torch, name)(x) for name in self.names]


def all_numbers() -> torch.Tensor:
    """Returns every 16411th f32 number, and more of those that most functions take."""
    bits = torch.arange(-(2**31), 2**31, 16411)
    near = [sign * m * 2.0**e for m, e in NEAR_QUARTER_TURNS for sign in (1, -1)]
    return torch.cat(
        [
            bits.to(torch.int32).view(torch.float32),
            torch.linspace(-1.1, 1.1, 100_001),
            torch.linspace(-100, 100, 100_001),
            torch.tensor(SPECIAL + BOUNDS + near),
        ]
    )


def without_subnormal(x: torch.Tensor) -> torch.Tensor:
    return x[(x == 0) | ~(x.abs() < torch.finfo(x.dtype).tiny)]


@pytest.mark.parametrize("runner", ["reference", "iree-cpu"])
def test_functions_computed_in_f64_are_rounded_once(runner):
    """Each coefficient that is off by 1% fails this test or that of intermediate values."""
    on_iree = runner == "iree-cpu"
    x = without_subnormal(all_numbers()) if on_iree else all_numbers()
    model = Wide(WIDE_ON_IREE if on_iree else WIDE)
    run = unmess.load(unmess.capture(model, (x,)), on=runner)
    for name, result, exact in zip(model.names, run(x), model(x.double()), strict=True):
        nearest = exact.float()
        assert torch.equal(result.isnan(), nearest.isnan()), name
        finite = nearest.isfinite()
        assert torch.equal(result[~finite].nan_to_num(), nearest[~finite].nan_to_num()), name
        assert torch.equal(result[finite].signbit(), nearest[finite].signbit()), name
        assert ulps(result, exact)[finite].max() < 0.503, name


def test_loops_of_dynamic_length():
    """LLVM vectorizes them, and computes the last elements one by one."""
    x = all_numbers()[-100_001:]
    model = Wide(("sin", "log1p", "cosh"))
    run = unmess.load(unmess.capture(model, (x,), dynamic_shapes=("x.0=n",)), on="reference")
    for part in (x[-5:], x):
        for result, exact in zip(run(part), model(part.double()), strict=True):
            finite = exact.float().isfinite()
            assert ulps(result, exact)[finite].max() < 0.503


class OfTwo(nn.Module):
    def forward(self, x, y):
        return torch.pow(x, y), torch.fmod(x, y), torch.atan2(x, y)


@pytest.fixture(scope="module")
def pairs() -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    bits = torch.randint(-(2**31), 2**31, (400,), generator=generator)
    numbers = [*SPECIAL, 1.0, -1.0, 2.0, -3.0, 0.5, 16777217.0]
    some = torch.cat([torch.tensor(numbers), bits.to(torch.int32).view(torch.float32)])
    x, y = (each.flatten() for each in torch.meshgrid(some, some, indexing="ij"))
    usual = torch.randn(2, 200_000, generator=generator) * torch.tensor([[2.0], [20.0]])
    return torch.cat([x, usual[0].abs()]), torch.cat([y, usual[1]])


def test_functions_of_two_numbers(pairs):
    """Includes all pairs of zeros, infinities and NaN, and quotients up to 2^277."""
    run = unmess.load(unmess.capture(OfTwo(), pairs), on="reference")
    exact = OfTwo()(*(each.double() for each in pairs))
    # Programs from PyTorch compute the quotient for atan2 in f32.
    for result, reference, bound in zip(run(*pairs), exact, (0.503, 0.0, 1.7), strict=True):
        nearest = reference.float()
        assert torch.equal(result.isnan(), nearest.isnan())
        finite = nearest.isfinite()
        assert torch.equal(result[~finite].nan_to_num(), nearest[~finite].nan_to_num())
        assert torch.equal(result[finite].signbit(), nearest[finite].signbit())
        assert ulps(result, reference)[finite].max() <= bound


# Returns a value of f64 as the sum of two f32 numbers.
PROGRAM = """
#id = affine_map<(d0) -> (d0)>
!t = tensor<{n}xf32>
func.func @main(%x: !t, %y: !t) -> (!t, !t) {{
  %e = tensor.empty() : !t
  %0:2 = linalg.generic {{indexing_maps = [#id, #id, #id, #id], iterator_types = ["parallel"]}}
      ins(%x, %y : !t, !t) outs(%e, %e : !t, !t) {{
  ^bb0(%a: f32, %b: f32, %c: f32, %d: f32):
    %wide = arith.extf %a : f32 to f64
    {lines}
    %high = arith.truncf %value : f64 to f32
    %rounded = arith.extf %high : f32 to f64
    %rest = arith.subf %value, %rounded : f64
    %low = arith.truncf %rest : f64 to f32
    linalg.yield %high, %low : f32, f32
  }} -> (!t, !t)
  return %0#0, %0#1 : !t, !t
}}
"""


def run_program(lines: str, folder: Path, *numbers: torch.Tensor) -> list[torch.Tensor]:
    file = folder / "program.mlir"
    file.write_text(PROGRAM.format(n=numbers[0].numel(), lines=lines))
    return unmess.load(str(file), on="reference")(*numbers)


def test_atan2_of_an_mlir_file(pairs, tmp_path):
    lines = "%angle = math.atan2 %a, %b : f32", "%value = arith.extf %angle : f32 to f64"
    high, _ = run_program("\n    ".join(lines), tmp_path, *pairs)
    exact = torch.atan2(*(each.double() for each in pairs))
    assert torch.equal(high.isnan(), exact.isnan())
    assert torch.equal(high.nan_to_num().signbit(), exact.float().nan_to_num().signbit())
    assert ulps(high, exact)[~exact.isnan()].max() < 0.503


@pytest.mark.parametrize("name", ["exp", "log", "log1p"])
def test_intermediate_values_of_f64_have_48_bits(name, numbers, tmp_path):
    """Two f32 numbers have no more. Their sum shows errors that a rounded result hides."""
    x = numbers[numbers.abs() < 60]
    high, low = run_program(f"%value = math.{name} %wide : f64", tmp_path, x, x)
    exact = getattr(torch, name)(x.double())
    # The rest of smaller values is subnormal.
    normal = exact.isfinite() & (exact.abs() > 1e-20)
    error = ((high.double() + low.double()) / exact - 1).abs()
    assert error[normal].max() < 2.0**-48


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_narrow_types_are_rounded_once(dtype):
    x = torch.linspace(-8, 8, 1001).to(dtype)
    run = unmess.load(unmess.capture(Functions(), (x,)), on="reference")
    exact = [result.to(dtype) for result in Functions()(x.double())]
    for result, reference in zip(run(x), exact, strict=True):
        # One float32 result in some thousands lies on the other side of a rounding boundary.
        assert (result != reference).double().mean() < 0.01
        torch.testing.assert_close(result, reference)


@pytest.mark.parametrize("runner", ["reference", "iree-cpu"])
def test_powers_match_eager(runner):
    x = torch.cat([torch.linspace(-3, 3, 1001), torch.linspace(3, 90, 500), torch.tensor(SPECIAL)])
    if runner == "iree-cpu":
        # IREE treats subnormal numbers as zeros.
        x = x[(x == 0) | ~(x.abs() < torch.finfo(x.dtype).tiny)]
    run = unmess.load(unmess.capture(Powers(), (x,)), on=runner)
    for result, eager in zip(run(x), Powers()(x), strict=True):
        least = 1e-37 if runner == "iree-cpu" else 0
        torch.testing.assert_close(result, eager, rtol=3e-7, atol=least, equal_nan=True)
