"""Tests of casts, arithmetic and 8-bit floats for every dtype, compared with eager.

Most tests use the reference runner.
"""

import itertools
import math

import pytest
import torch
import torch.nn.functional as F

import unmess

FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
SIGNED = (torch.int8, torch.int16, torch.int32, torch.int64)
COMPLEX = (torch.complex64, torch.complex128)
TYPES = (torch.bool, torch.uint8, *SIGNED, *FLOATS, *COMPLEX)
FLOAT8 = (
    torch.float8_e4m3fn,
    torch.float8_e5m2,
    torch.float8_e4m3fnuz,
    torch.float8_e5m2fnuz,
    torch.float8_e8m0fnu,
)


def assert_like_eager(function, *args, on="reference", via=None, **capture):
    report = unmess.check(unmess.capture(function, args, **capture), on=on, via=via, calls=1)
    assert report.ok, report.error


def numbers(dtype):
    """Returns test values: negative ones if the type is signed, and the limits of integers."""
    if dtype == torch.bool:
        return torch.tensor([True, False, True])
    values = torch.tensor([0.0, 1.0, 2.5, 100.0, 7.75]).to(dtype)
    if dtype.is_signed:
        values = torch.cat([values, torch.tensor([-1.0, -3.5]).to(dtype)])
    if not (dtype.is_floating_point or dtype.is_complex):
        limits = torch.iinfo(dtype)
        values = torch.cat([values, torch.tensor([limits.min, limits.max], dtype=dtype)])
    return values


def is_defined(source, target):
    """Returns whether a cast is defined.

    A cast from complex to real is not: it drops the imaginary part, and PyTorch warns. Others are
    defined, because the values here are in range.
    """
    return target.is_complex or not source.is_complex


@pytest.mark.parametrize("source", TYPES, ids=str)
def test_casts(source):
    """Casts to every type at once. C++ does not define casts of negative floats to uint8."""
    x = numbers(source)

    def casts(x):
        floating = source.is_floating_point
        return [
            (x.clamp(min=0) if floating and target == torch.uint8 else x).to(target)
            for target in TYPES
            if is_defined(source, target)
        ]

    assert_like_eager(casts, x)


def test_casts_on_a_cpu_without_bf16():
    """LLVM calls functions of a library where a CPU has no instruction for a cast."""
    inputs = {source: numbers(source) for source in TYPES if not source.is_complex}
    # Halfway between two bf16 numbers, next to halfway, and rounded twice.
    halfway = torch.tensor([257, 259, 65791, 65793, -257, 2**31 + 2**23 + 1, 2**53 + 1])
    inputs[torch.int64] = torch.cat([inputs[torch.int64], halfway])

    def casts(*inputs):
        return [
            (x.clamp(min=0) if x.is_floating_point() and target == torch.uint8 else x).to(target)
            for x in inputs
            for target in TYPES
        ]

    program = unmess.capture(casts, tuple(inputs.values()))
    run = unmess.load(program, on="iree-cpu", target=unmess.TargetOptions(cpu="generic"))
    for mine, eager in zip(run(*program.args), casts(*program.args), strict=True):
        torch.testing.assert_close(mine, eager, rtol=0, atol=0)


@pytest.mark.parametrize("runner", ["reference", "iree-cpu"])
@pytest.mark.parametrize("dialect", ["linalg", "tosa", "stablehlo"])
def test_casts_in_vector_code(dialect, runner):
    """Casts drop the upper bits, also if there are enough elements for vector instructions."""

    def casts(x, *floats):
        image = F.conv2d(x.reshape(1, 4, 32, 32), torch.eye(4).reshape(4, 4, 1, 1))
        return [x.to(target) for x in (x, *floats, image) for target in (torch.uint8, *SIGNED)]

    values = torch.linspace(-300, 300, 4096)
    others = (values.to(dtype) for dtype in FLOATS if dtype != torch.float32)
    assert_like_eager(casts, values, *others, on=runner, via=dialect)


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_identity_and_arithmetic(dtype):
    def arithmetic(x, y):
        results = [x, x.flip(0), torch.where(x == y, x, y), x + y, x * y, x[:0] + y[:0]]
        if dtype != torch.bool:
            results += [x - y, x * 3, x.sum(), x.prod(), x @ y, x.cumsum(0)]
        if not dtype.is_complex:
            results += [x < y, x.max(), torch.maximum(x, y), x.any(), x.sort()[0]]
        if dtype != torch.bool and not dtype.is_complex:
            results += [x.argmin()]
        return results

    x = numbers(dtype)
    assert_like_eager(arithmetic, x, x.roll(1))


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_without_dimensions_and_empty(dtype):
    def function(scalar, empty):
        return scalar, scalar.reshape(1, 1), empty, empty.mT, torch.cat([empty, empty], 1)

    assert_like_eager(function, torch.ones((), dtype=dtype), torch.ones(0, 3, dtype=dtype))


def test_mixed_types():
    """Tests PyTorch's type promotion of each pair of types."""

    def sums(values):
        return [a + b for a, b in itertools.combinations(values, 2)]

    assert_like_eager(sums, [torch.ones(2, dtype=dtype) for dtype in TYPES])


def test_a_complex_number_and_f16():
    """The result is complex32, with the infinities and NaN of eager."""
    x = torch.tensor([torch.nan, torch.inf, -1.5], dtype=torch.float16)
    assert_like_eager(lambda x, z: x + z, x, torch.tensor(1 - 2j))


def test_concatenation_of_mixed_types():
    """Concatenates uint8 with every type."""
    byte = torch.tensor([255, 1], dtype=torch.uint8)

    def joined(values):
        return [torch.cat([byte, value]) for value in values]

    assert_like_eager(joined, [torch.ones(2, dtype=dtype) for dtype in TYPES])


@pytest.mark.parametrize("dtype", COMPLEX, ids=str)
def test_made_complex(dtype):
    def made(z, index):
        return (
            z.new_zeros(2, 2),
            torch.full_like(z, 2),
            z.index_fill(0, index, 1 - 2j),
            z * z.new_ones(3),
        )

    assert_like_eager(made, numbers(dtype)[:3], torch.tensor([2]))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_narrow_sums_and_products(dtype):
    """Eager sums narrow floats in f32 and rounds once, so that long sums do not stall."""
    x = torch.full((4, 3000), 0.25, dtype=dtype)
    w = torch.full((3000, 2), 0.5, dtype=dtype)
    assert_like_eager(lambda x, w: (x.sum(1), x.mean(1), x @ w, torch.softmax(x, 1)), x, w)


def test_products_and_distances_in_f16():
    """The product of all numbers is in the range of f16, but that of every fifth number is not.

    It is 0.01 ** 5. The smallest positive f16 is 6e-8.
    """
    x = torch.tensor([3.0, 0.01, 2.0, 40.0, 0.4] * 5, dtype=torch.float16)

    def function(x):
        distance = torch.nn.functional.pairwise_distance(x[:5], x[:5])
        return x.prod(), x.reshape(5, 5).prod(1), x.reshape(5, 5).mT.cumprod(0), distance

    assert_like_eager(function, x)


def test_vectors_of_bf16(always_vectors):
    """LLVM does not legalize bf16 vectors of 9 and 36 elements."""
    x = torch.linspace(-3, 3, 18).bfloat16().reshape(2, 3, 3)
    assert_like_eager(torch.kron, x, x[0, :2, :2])


def test_every_bf16():
    """Includes subnormal numbers, infinities and NaN. Each operation of a chain rounds."""
    x = torch.arange(-(2**15), 2**15).to(torch.int16).view(torch.bfloat16)

    def function(x):
        return x * 1.0, -x, x * x + x, (x * x).sqrt() < x, torch.where(x > 0, x, 0.5 * x)

    run = unmess.load(unmess.capture(function, (x,)), on="reference")
    for ours, theirs in zip(run(x), function(x), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_nan_is_the_largest(dtype):
    nan, inf = math.nan, math.inf
    x = torch.tensor([[1, nan, -2, inf, nan], [3, inf, -inf, 0.5, 2]], dtype=dtype)

    def function(x):
        sorts = torch.sort(x, 1).values, torch.sort(x, 1, descending=True).values
        extremes = x.max(1), x.min(1), x.argmax(1), x.argmin(0), x[0, :2].argmax(0)
        return *sorts, torch.topk(x, 3), torch.topk(x, 4, largest=False).values, *extremes

    assert_like_eager(function, x)


@pytest.mark.parametrize("dtype", FLOATS + SIGNED + COMPLEX, ids=str)
def test_dynamic_sizes(dtype):
    rows = torch.export.Dim("rows", min=2, max=64)
    x = torch.arange(12).reshape(3, 4).to(dtype)
    assert_like_eager(lambda x: (x + x[:1], x.sum(0), x.mT @ x), x, dynamic_shapes=({0: rows},))


def same(a, b):
    """Returns whether two tensors are bitwise equal. Any NaN equals any other."""
    nan = a.float().isnan() & b.float().isnan()
    return bool(((a.view(torch.uint8) == b.view(torch.uint8)) | nan).all())


@pytest.mark.parametrize("dtype", FLOAT8, ids=str)
def test_every_8_bit_float(dtype):
    """Converts each code to wider types and back, and moves elements."""
    codes = torch.arange(256).to(torch.uint8).view(dtype)

    def function(x):
        wide = x.float()
        return wide, x.half(), x.double(), wide.to(dtype), x.reshape(16, 16).mT

    run = unmess.load(unmess.capture(function, (codes,)), on="reference")
    *wide, again, moved = run(codes)
    for ours, theirs in zip(wide, function(codes), strict=False):
        assert ours.dtype == theirs.dtype
        torch.testing.assert_close(ours, theirs, rtol=0, atol=0, equal_nan=True)
    assert again.dtype == moved.dtype == dtype
    assert same(again, codes.float().to(dtype))
    assert same(moved.contiguous(), codes.reshape(16, 16).mT.contiguous())


@pytest.mark.parametrize("dtype", FLOAT8, ids=str)
def test_rounding_to_8_bit_floats(dtype):
    """Rounds every bf16, which includes each tie between 8-bit floats, and its f32 neighbors."""
    exact = torch.arange(-(2**15), 2**15).to(torch.int16).view(torch.bfloat16).float()
    above, below = (torch.nextafter(exact, torch.tensor(end)) for end in (3e38, -3e38))
    x = torch.cat([exact, above, below])

    def function(x):
        return x.to(dtype), x.double().to(dtype), x.half().to(dtype)

    run = unmess.load(unmess.capture(function, (x,)), on="reference")
    for ours, theirs in zip(run(x), function(x), strict=True):
        assert ours.dtype == dtype
        assert same(ours, theirs)


def test_python_numbers_and_8_bit_floats_from_integers():
    def function(x, n):
        return (x * n).to(torch.float8_e5m2), x.sum().item(), bool(n > 2), x.shape[0] / 2

    x = torch.arange(-6, 6)
    run = unmess.load(unmess.capture(function, (x, 3)), on="reference")
    ours, theirs = run(x, 3), function(x, 3)
    assert same(ours[0], theirs[0])
    assert ours[1:] == theirs[1:]


@pytest.mark.parametrize("via", ["linalg", "tosa", "stablehlo"])
def test_constant_results(via):
    """PyTorch's decompositions make an int64 constant, and convert it."""
    types = (torch.bool, torch.uint8, *SIGNED)

    def constants(x):
        return x + 1, [torch.full((2, 3), 1).to(dtype) for dtype in types]

    program = unmess.capture(constants, (torch.ones(2),))
    report = unmess.check(program, on="reference", via=via, calls=1)
    assert report.ok, report.error


def test_constant_result_of_a_branch():
    def branch(x):
        return torch.cond(
            x.sum() > 0,
            lambda x: torch.full((3,), 200).to(torch.uint8),
            lambda x: x.to(torch.uint8),
            (x,),
        )

    for via in ("linalg", "stablehlo"):
        program = unmess.capture(branch, (torch.arange(3),))
        report = unmess.check(program, on="reference", via=via, calls=1)
        assert report.ok, report.error
