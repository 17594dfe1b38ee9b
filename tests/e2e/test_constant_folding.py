"""Operators on constant tensors match eager: torch-mlir folds some of them."""

import functools
import itertools

import pytest
import torch

import unmess

CONSTANTS = {
    "float": torch.tensor([-7.5, 7.5, -1.0, 3.0, -0.0, 0.0, 2.5, -2.5, torch.inf, torch.nan]),
    "int": torch.tensor([-7, 7, -1, 3, 0, 8, -8, 5, 2, 100]),
    "uint8": torch.tensor([250, 7, 1, 3, 0, 8, 200, 5, 255, 2], dtype=torch.uint8),
    "bool": torch.tensor([True, False] * 5),
}
UNARY = """
    abs all amax amin any argmax bitwise_not ceil count_nonzero cumsum erf exp expm1 floor
    frac isfinite isinf isnan log logical_not max mean min neg prod reciprocal relu round
    rsqrt sgn sigmoid sign signbit sin sqrt square std sum tanh trunc var
"""
BINARY = """
    add atan2 bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor div
    eq floor_divide fmod ge gt le logical_and logical_or logical_xor lt maximum minimum mul
    ne pow remainder sub
"""
NUMBERS = (-3, 2.5, True)


def literals():
    """Returns tensors that the capture makes constants of the program, by name."""
    return {name: torch.tensor(each.tolist(), dtype=each.dtype) for name, each in CONSTANTS.items()}


def unary(name, constant, tensors):
    return getattr(torch, name)(tensors[constant])


def with_number(name, constant, number, tensors):
    return getattr(torch, name)(tensors[constant], number)


def of_number(name, constant, number, tensors):
    return getattr(torch, name)(number, tensors[constant])


def of_two(name, constant, other, tensors):
    return getattr(torch, name)(tensors[constant], tensors[other].flip(0))


def calls(name):
    """Yields calls of operators with the constant `name`. Eager does not accept all of them."""
    for operator in UNARY.split():
        yield functools.partial(unary, operator, name)
    for operator, number in itertools.product(BINARY.split(), NUMBERS):
        yield functools.partial(with_number, operator, name, number)
        yield functools.partial(of_number, operator, name, number)
    for operator, other in itertools.product(BINARY.split(), dict.fromkeys((name, "int", "float"))):
        yield functools.partial(of_two, operator, name, other)


def taken(call):
    try:
        call(CONSTANTS)
    except (RuntimeError, TypeError):
        return False
    return True


@pytest.mark.parametrize("name", CONSTANTS)
def test_matches_eager(name):
    every = [call for call in calls(name) if taken(call)]
    assert len(every) > 100
    for start in range(0, len(every), 120):
        compare(every[start : start + 120])


def compare(some):
    def function(x):
        tensors = literals()
        return [call(tensors) for call in some], x

    x = torch.ones(1)
    results, _ = unmess.load(unmess.capture(function, (x,)))(x)
    for call, result in zip(some, results, strict=True):
        torch.testing.assert_close(
            result, call(CONSTANTS), equal_nan=True, msg=lambda text, call=call: f"{call}: {text}"
        )
