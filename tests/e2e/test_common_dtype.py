"""Numbers, and operands without dimensions, that do not fit the dtype in which eager computes."""

import pytest
import torch

import unmess

INTEGERS = [
    torch.tensor([0, 1, 3, 5, 44, 100, 254], dtype=torch.uint8),
    torch.tensor([0, 1, 3, -4, 44, 100, -120], dtype=torch.int8),
    torch.tensor([0, 1, 3, -4, 4464, 100, -120], dtype=torch.int16),
    torch.tensor([0, 1, 3, -4, 44, 100, -120], dtype=torch.int32),
]
WIDE_INTEGERS = [
    torch.tensor(-2, dtype=torch.int8),
    torch.tensor(200, dtype=torch.uint8),
    torch.tensor(300, dtype=torch.int16),
    torch.tensor(70_000, dtype=torch.int32),
    torch.tensor(2**40 + 3),
]
FLOATS = [
    torch.tensor([0.1, -0.3, 2.7, 0.0, 100.0, 1e-3]).to(dtype)
    for dtype in (torch.float16, torch.bfloat16, torch.float32)
]
WIDE_FLOATS = [
    torch.tensor(0.1),
    torch.tensor(0.1, dtype=torch.float64),
    torch.tensor(70_000.0),
    torch.tensor(70_000, dtype=torch.int32),
    torch.tensor(1e-8),
]


def quotient(x, y):
    return torch.div(x, y, rounding_mode="trunc")


OF_INTEGERS = [
    *(torch.lt, torch.ge, torch.eq, torch.maximum, torch.fmod, torch.remainder, torch.lcm),
    *(torch.bitwise_or, quotient),
    lambda x, y: torch.clamp(x, min=y),
    lambda x, y: torch.where(x > 3, x, y),
    lambda x, y: torch.isin(x, y),
    lambda x, y: torch.isin(y, x),
]
OF_FLOATS = [
    *(torch.mul, torch.div, torch.add, torch.sub, torch.lt, torch.eq, torch.minimum),
    *(torch.floor_divide, quotient, torch.atan2, torch.xlogy, torch.special.xlog1py),
    lambda x, y: torch.addcdiv(x, y, x + 2),
    lambda x, y: torch.ldexp(x, y.clamp(max=2)),
    lambda x, y: torch.ldexp(y, x.clamp(max=2)),
]


@pytest.mark.parametrize(
    ("operators", "tensors", "numbers"),
    [(OF_INTEGERS, INTEGERS, WIDE_INTEGERS), (OF_FLOATS, FLOATS, WIDE_FLOATS)],
    ids=["integers", "floats"],
)
def test_operand_without_dimensions(operators, tensors, numbers):
    def results(tensors, numbers):
        found = {}
        for index, operator in enumerate(operators):
            for x in tensors:
                for y in numbers:
                    # Operands with dimensions widen the dtype.
                    for operand in (y, y.expand(x.shape)):
                        name = f"{index} {x.dtype} {y.dtype} {len(found)}"
                        found[name] = operator(x, operand)
        return found

    report = unmess.check(unmess.capture(results, (tensors, numbers)), on="reference", calls=1)
    assert report.ok, report.error


@pytest.mark.parametrize("runner", ["reference", "iree-cpu"])
def test_number_that_is_rounded(runner):
    products = [torch.mul, torch.div, torch.floor_divide, quotient, torch.nn.functional.leaky_relu]
    others = [
        *(torch.lt, torch.le, torch.eq, torch.isin, torch.xlogy, torch.nn.functional.hardshrink),
        lambda x, number: torch.nn.functional.threshold(x, number, number),
        lambda x, number: torch.clamp(x, min=number),
    ]

    def results(*tensors):
        def of_all(operators, numbers):
            return [f(x, number) for f in operators for x in tensors for number in numbers]

        return of_all(products + others, (0.1, 1e-8, 6001)), of_all(products, (7e4, 70_001))

    report = unmess.check(unmess.capture(results, tuple(FLOATS)), on=runner, calls=1)
    assert report.ok, report.error


@pytest.mark.parametrize("dialect", ["linalg", "tosa", "stablehlo"])
def test_integers_and_float(dialect):
    def results(*tensors):
        numbers = 0.1, -2.3, 3.0
        return [
            f(x, number)
            for f in (torch.add, torch.sub, torch.mul, torch.div, torch.lt, torch.eq)
            for x in tensors
            for number in numbers
        ]

    tensors = (*INTEGERS, torch.tensor([0, 3, -7]))
    module = unmess.lower(unmess.capture(results, tensors), to=dialect)
    for result, expected in zip(unmess.load(module)(*tensors), results(*tensors), strict=True):
        torch.testing.assert_close(result, expected)


@pytest.mark.parametrize("runner", ["reference", "iree-cpu"])
def test_number_that_wraps(runner):
    def results(x):
        return quotient(x, -2), quotient(x, 300), torch.fmod(x, -2), torch.remainder(x, 300)

    report = unmess.check(unmess.capture(results, (INTEGERS[0],)), on=runner, calls=1)
    assert report.ok, report.error


@pytest.mark.parametrize("runner", ["reference", "iree-cpu"])
def test_buckets_of_booleans_and_numbers(runner):
    def results(flags, boundaries):
        return (
            torch.bucketize(flags, boundaries),
            torch.bucketize(flags, boundaries, right=True, out_int32=True),
            torch.bucketize(1, boundaries),
            torch.bucketize(2.5, boundaries, right=True),
        )

    arguments = torch.tensor([True, False]), torch.tensor([-3, 0, 1, 2])
    report = unmess.check(unmess.capture(results, arguments), on=runner, calls=1)
    assert report.ok, report.error
