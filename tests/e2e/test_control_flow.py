"""`torch.cond` and `while_loop`: all branches, nesting, weights, and an unsupported operator."""

import functools
from itertools import product

import pytest
import torch
from torch._higher_order_ops.map import map as map_rows
from torch._higher_order_ops.while_loop import while_loop

import unmess

DIALECTS = ("linalg", "tosa", "stablehlo")


class Choice(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)

    def forward(self, x):
        def inner(x):
            return torch.cond(x[0, 0] > 0, self.b, lambda x: x * 2, (x,))

        first, second = torch.cond(
            x.sum() > 0, lambda x: (self.a(x), x + 1), lambda x: (inner(x), x - 1), (x,)
        )
        return first * second


def test_every_branch_of_nested_conditions():
    model = Choice()
    positive, negative = torch.ones(2, 4), -torch.ones(2, 4)
    mixed = negative.index_put((torch.tensor(0), torch.tensor(0)), torch.tensor(1.0))
    program = unmess.capture(model, (positive,))
    lowered = {dialect: unmess.lower(program, to=dialect) for dialect in DIALECTS}
    for dialect, runner in product(DIALECTS, ("reference", "iree-cpu")):
        run = unmess.load(lowered[dialect], on=runner)
        for x in (positive, negative, mixed):
            torch.testing.assert_close(run(x), model(x), rtol=1e-5, atol=1e-6)


# Each loop is captured once, for all dialects.
@functools.cache
def collatz():
    def function(n):
        def step(count, n):
            return count + 1, torch.cond(n % 2 == 0, lambda n: n // 2, lambda n: 3 * n + 1, (n,))

        return while_loop(lambda _count, n: n > 1, step, (torch.zeros((), dtype=torch.int64), n))

    return unmess.capture(function, (torch.tensor(6),))


@pytest.mark.parametrize("dialect", DIALECTS)
def test_condition_in_a_loop(dialect):
    run = unmess.load(unmess.lower(collatz(), to=dialect))
    for start, steps in ((6, 8), (27, 111), (1, 0)):
        assert [int(value) for value in run(torch.tensor(start))] == [steps, 1]


@functools.cache
def doubled():
    def function(x):
        def step(count, x):
            return count + 2, x * 2

        return while_loop(lambda count, _x: count < 5, step, (torch.tensor(0), x))

    return unmess.capture(function, (torch.ones(2),))


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_loop_whose_first_condition_is_known(dialect):
    """torch-mlir treats such a loop as infinite."""
    x = torch.ones(2)
    count, result = unmess.load(unmess.lower(doubled(), to=dialect))(x)
    assert count == 6
    assert torch.equal(result, x * 8)


@pytest.mark.parametrize("runner", ["reference", "iree-cpu"])
def test_values_of_a_loop_that_start_with_the_same_tensor(runner):
    """Without copies, IREE stops the call."""

    def model(x):
        zeros = torch.zeros_like(x)
        start = (torch.tensor(0), x, x.clone(), zeros, zeros.clone(), x + 1, x + 1)

        def step(n, a, b, c, d, e, f):
            return n + 1, a * 2, b + 1, a + c, d - b, e - a, f * 2

        return while_loop(lambda n, *_: n < 3, step, start)

    report = unmess.check(unmess.capture(model, (torch.randn(5, 40),)), on=runner, calls=1)
    assert report.ok, report.error


@pytest.mark.parametrize("runner", ["reference", "iree-cpu"])
def test_a_condition_and_offsets_in_one_loop(runner):
    """With copies before this loop, IREE ended it before the first step (branch_numbers.py)."""

    def model(x):
        values, vectors = torch.linalg.eigh(x @ x.mT)
        return vectors * values @ vectors.mT, vectors.mT @ vectors

    run = unmess.load(unmess.capture(model, (torch.randn(5, 4),)), on=runner)
    x = torch.randn(5, 4)
    torch.testing.assert_close(run(x), model(x), atol=1e-5, rtol=0)


def test_an_unsupported_operator_in_a_branch_has_its_line():
    def rows(x):
        return map_rows(lambda row: row.sin() + 1, x)

    def function(x):
        return torch.cond(x.sum() > 0, rows, lambda x: x * 2, (x,))

    with pytest.raises(unmess.Error, match=r"map.* has no form in the torch dialect") as e:
        unmess.lower(unmess.capture(function, (torch.ones(2, 2),)), to="raw")
    assert e.value.where == f"{__file__}:{function.__code__.co_firstlineno + 1}"


def branch(x):
    if x.sum() > 0:
        return x * 2
    return x * 3


def test_a_branch_fixed_by_the_example_is_checked_at_run():
    program = unmess.capture(branch, (torch.ones(3),))
    assert any("conditions that may hold for" in note.text for note in program.notes)
    run = unmess.load(program, on="reference")
    torch.testing.assert_close(run(torch.full((3,), 2.0)), torch.full((3,), 4.0))
    with pytest.raises(unmess.Error, match="a check in the program failed") as caught:
        run(-torch.ones(3))
    assert caught.value.where == f"{__file__}:{branch.__code__.co_firstlineno + 1}"


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("runner", ["reference", "iree-cpu"])
def test_numbers_of_narrow_floats(dtype, runner):
    """IREE has no scalars of these types, only tensors."""
    function = lambda x: (x[0].item(), x * x[1].item())  # noqa: E731
    run = unmess.load(unmess.capture(function, (torch.ones(2, dtype=dtype),)), on=runner)
    x = torch.tensor([-8.5, 0.1], dtype=dtype)
    (number, product), expected = run(x), function(x)
    assert number == expected[0]
    torch.testing.assert_close(product, expected[1])


def parts(x, n):
    return torch.tensor_split(x, n.item())


def parts_by_a_tensor(x, n):
    return torch.tensor_split(x, n)


def parts_by_keyword(x, n):
    return torch.tensor_split(input=x, tensor_indices_or_sections=n, dim=-1)


def chunks(x, n):
    return x.chunk(n.item())


def pieces(x, n):
    return x.split(n.item())


def rows_of_a_slice(x, n):
    return x[: n.item()].unbind()


def rank(x, n):
    return x.reshape([1] * n.item() + [12])


COUNTED = [parts, parts_by_a_tensor, parts_by_keyword, chunks, pieces, rows_of_a_slice, rank]


@pytest.mark.parametrize("function", COUNTED)
def test_a_number_of_results_fixed_by_the_example_is_checked_at_run(function):
    x = torch.arange(12.0)
    run = unmess.load(unmess.capture(function, (x, torch.tensor(3))), on="reference")
    torch.testing.assert_close(list(run(-x, torch.tensor(3))), list(function(-x, torch.tensor(3))))
    for count in (2, 4):
        with pytest.raises(unmess.Error, match="a number that depends on data") as caught:
            run(x, torch.tensor(count))
        assert caught.value.where == f"{__file__}:{function.__code__.co_firstlineno + 1}"
        assert "capture the model with these arguments" in caught.value.hint


def test_a_number_of_results_that_torch_export_needs():
    arguments = (torch.arange(12.0), torch.tensor(3))
    with pytest.raises(unmess.Error, match="tried: non-strict") as caught:
        unmess.capture(parts, arguments, strategy="non-strict")
    assert caught.value.where == f"{__file__}:{parts.__code__.co_firstlineno + 1}"
    assert "pass it as a Python integer" in caught.value.hint


@pytest.mark.parametrize("runner", ["reference", "iree-cpu"])
def test_branches_that_choose_an_operand(runner):
    def chosen(x, y):
        first = lambda x, y: (x.clone(), x + y)  # noqa: E731
        second = lambda x, y: (y.clone(), x * y)  # noqa: E731
        return torch.cond(x.sum() > 0, first, second, (x, y))

    x, y = torch.ones(3), -torch.ones(3)
    run = unmess.load(unmess.capture(chosen, (x, y)), on=runner)
    for args in ((x, y), (y, x)):
        torch.testing.assert_close(run(*args), chosen(*args))
