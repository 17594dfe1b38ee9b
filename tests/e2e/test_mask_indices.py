"""Accesses by masks, and with any number of indices: the results and the errors are as in eager."""

import functools

import pytest
import torch

import unmess


def set_elements(x, mask, i):
    i, j = torch.where(mask)
    return x.index_put((i, j - 3), torch.tensor(7.0))


def add_to_elements(x, mask, i):
    return x.index_put(mask.nonzero().unbind(1), torch.tensor(7.0), accumulate=True)


def set_grid(x, mask, i):
    return x.index_put((i[:, None], torch.where(mask)[1]), torch.tensor(7.0))


def set_columns(x, mask, i):
    x = x.clone()
    x[:, torch.where(mask)[1]] = torch.ones(4, 1)
    return x


def set_around_a_slice(x, mask, i):
    i, j = torch.where(mask)
    x = x.clone().reshape(2, 2, 3)
    x[i % 2, :, j] = torch.ones(2)
    return x


def set_given_rows(x, mask, i):
    return x.index_put((i,), torch.tensor(7.0))


def add_given_columns(x, mask, i):
    return x.index_add(1, i % 3, x[:, i % 3])


def get_elements(x, mask, i):
    return x[torch.where(mask)]


def get_around_a_slice(x, mask, i):
    return x.reshape(2, 2, 3)[i % 2, :, -i]


def rows_doubled(x, mask, i):
    mask = mask[:, 0]
    return x.masked_scatter(mask[:, None], x[mask] * 2), x.masked_scatter(mask[:, None], x[mask].T)


OF_ANY_NUMBER = [
    set_elements,
    add_to_elements,
    set_grid,
    set_columns,
    set_around_a_slice,
    set_given_rows,
    add_given_columns,
    get_elements,
    get_around_a_slice,
    rows_doubled,
]


def with_any_number(x, mask, i):
    return [function(x, mask, i) for function in OF_ANY_NUMBER]


ANY_NUMBER = torch.randn(4, 3), torch.eye(4, 3) > 0, torch.tensor([0, 2])


@functools.cache
def captured_with_any_number():
    shapes = (None, None, {0: torch.export.Dim("n", min=0)})
    return unmess.capture(with_any_number, ANY_NUMBER, dynamic_shapes=shapes)


@pytest.mark.parametrize("runner", ["reference", "iree-cpu"])
def test_any_number_of_indices(runner):
    """The number depends on a mask, or is a dynamic size. It may be 0."""
    x, some, rows = ANY_NUMBER
    run = unmess.load(captured_with_any_number(), on=runner)
    for mask, i in (
        (some, rows),
        (some & False, rows[:0]),
        (some & False, rows),
        (some | True, rows[:0]),
        (some | True, torch.tensor([1])),
    ):
        torch.testing.assert_close(run(x, mask, i), with_any_number(x, mask, i))
    with pytest.raises(unmess.Error, match="index out of range") as caught:
        run(x, some, torch.tensor([2, 4]))
    assert caught.value.where == f"{__file__}:{set_grid.__code__.co_firstlineno + 1}"


def values_of_another_mask(x, y):
    return x.index_put((x > 0,), y[y > 0])


def values_added_by_another_mask(x, y):
    return x.index_put((x > 0,), y[y > 0], accumulate=True)


def values_of_a_fixed_number(x, y):
    return x.index_put((x > 0,), y[:3])


def values_for_several_indices(x, y):
    places = torch.nonzero(x > 0)[:, 0]
    return torch.outer(x, y).index_put((places, places), y[y > 0])


OF_MANY_VALUES = (
    *(values_of_another_mask, values_added_by_another_mask),
    *(values_of_a_fixed_number, values_for_several_indices),
)
FOUR, THREE = torch.tensor([1.0, -1, 2, 3]), torch.tensor([1.0, 2, -3, 4])


@functools.cache
def captured_with_values():
    programs = {f.__name__: unmess.capture(f, (FOUR, THREE)) for f in OF_MANY_VALUES}
    return unmess.combine(programs)


@pytest.mark.parametrize("runner", ["reference", "iree-cpu"])
def test_as_many_values_as_indices(runner):
    """Writing more or fewer values is an error, even if both numbers depend on data."""
    x, three = FOUR, THREE
    run = unmess.load(captured_with_values(), on=runner)
    for function in OF_MANY_VALUES:
        torch.testing.assert_close(run[function.__name__](x, three), function(x, three))
        for x_now, y in ((x.abs(), three), (-x, three)):
            with pytest.raises((RuntimeError, IndexError)):
                function(x_now, y)
            with pytest.raises(unmess.Error, match=r"index_put has .* than its") as caught:
                run[function.__name__](x_now, y)
            line = function.__code__.co_firstlineno
            assert caught.value.where in (f"{__file__}:{line + 1}", f"{__file__}:{line + 2}")


def masked(x, mask):
    rows, columns, stacked = mask.any(1), mask.any(0), torch.stack([x, -x], -1)
    return (
        *(x[rows, columns], x[rows.to(torch.uint8), [0, 1]], x[rows, torch.tensor([2])]),
        *(stacked[mask, torch.tensor([0, 1])], stacked[..., rows, None, [1]]),
    )


SQUARE = torch.arange(16.0).reshape(4, 4)
TWO, ONE = torch.zeros(2, 4, 4, dtype=torch.bool)
TWO[[0, 2], [1, 3]], ONE[1, 1] = True, True


@functools.cache
def captured_with_masks():
    return unmess.capture(masked, (SQUARE, TWO))


@pytest.mark.parametrize("runner", ["reference", "iree-cpu"])
def test_masks_beside_other_indices(runner):
    x = SQUARE
    run = unmess.load(captured_with_masks(), on=runner)
    for mask in (TWO, ONE):  # ONE selects one place, which is broadcast.
        for found, expected in zip(run(x, mask), masked(x, mask), strict=True):
            torch.testing.assert_close(found, expected, rtol=0, atol=0)
    for mask in (torch.ones_like(TWO), torch.zeros_like(TWO)):
        with pytest.raises(IndexError):
            masked(x, mask)
        with pytest.raises(unmess.Error, match="selects another number of elements"):
            run(x, mask)
