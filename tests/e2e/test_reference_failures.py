"""Tests that failures at run time are errors with the user's line and affect one call only."""

import os
import signal
import textwrap
import time

import pytest
import torch

import unmess


def fails(run, *args, message: str, function) -> None:
    """Calls `run` and expects an error that names the second line of `function`."""
    with pytest.raises(unmess.Error, match=message) as caught:
        run(*args)
    assert caught.value.stage == "run"
    assert caught.value.where == f"{__file__}:{function.__code__.co_firstlineno + 1}"


def load(function, *args, dynamic_shapes=None):
    program = unmess.capture(function, args, dynamic_shapes=dynamic_shapes)
    return unmess.load(program, on="reference")


def cube(x):
    return torch.cumsum(x[:, None, None] + x[None, :, None] + x[None, None, :], 0)[1]


def test_no_memory_for_a_temporary():
    size = torch.export.Dim("size", min=2)
    run = load(cube, torch.randn(4), dynamic_shapes=({0: size},))
    # 50,000 ** 3 numbers of 8 bytes: cumulative sums are computed in f64.
    message = "cannot allocate 1,000,000,000,000,000 bytes"
    fails(run, torch.randn(50_000), message=message, function=cube)
    x = torch.randn(5)
    torch.testing.assert_close(run(x), cube(x))


def power(x):
    return torch.cumsum(x[:, None, None, None] + x[:, None, None] + x[:, None] + x, 0)[1, 0, 0, 0]


def test_a_size_that_overflows():
    size = torch.export.Dim("size", min=2)
    run = load(power, torch.randn(4), dynamic_shapes=({0: size},))
    # 2 ** 72 floats: the product of the sizes is 0 in 64 bits.
    fails(run, torch.randn(2**18), message="too large for any memory", function=power)


def zeros(count):
    return torch.zeros(count.item()).cumsum(0)


@pytest.mark.parametrize("count", [-3, 2**62])
def test_a_size_that_is_read_from_a_tensor(count):
    run = load(zeros, torch.tensor(5))
    with pytest.raises(unmess.Error):
        run(torch.tensor(count))
    assert torch.equal(run(torch.tensor(3)), torch.zeros(3))


def remainder(a, b):
    return a % b


def quotient(a, b):
    return torch.div(a, b, rounding_mode="trunc")


def floor(a, b):
    return a // b


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64])
@pytest.mark.parametrize("function", [remainder, quotient, floor])
def test_integer_division(function, dtype):
    a, b = torch.tensor([5, 120, 7, 8]).to(dtype), torch.tensor([2, 3, 4, 5]).to(dtype)
    if dtype.is_signed:
        a[:2], b[1:] = -a[:2], -b[1:]
    # f64 cannot represent the largest i64.
    a[3] = torch.iinfo(dtype).max
    run = load(function, a, b)
    assert torch.equal(run(a, b), function(a, b))
    b[2] = 0
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        function(a, b)
    fails(run, a, b, message="ZeroDivisionError", function=function)
    a[:], b[:] = torch.iinfo(dtype).min, -1
    # For the quotient of i32 or i64, eager itself crashes the process. Narrow types wrap around.
    wraps = function is quotient and dtype in (torch.int32, torch.int64)
    assert torch.equal(run(a, b), a if wraps else function(a, b))


def test_floor_division_by_numbers():
    def function(a):
        return a // 3, torch.div(a, -4, rounding_mode="floor"), torch.floor_divide(a, 2)

    a = torch.tensor([-7, 7, 2**62 + 1, -(2**63)])
    for ours, theirs in zip(load(function, a)(a), function(a), strict=True):
        assert torch.equal(ours, theirs)


def chosen(x, rows):
    return x[rows]


def replaced(x, rows):
    return torch.index_put(x, (rows,), torch.ones(2, 4))


def added(x, rows):
    return x.index_add(0, rows, torch.ones(2, 4))


def scattered(x, rows):
    return x.scatter(0, rows[None], 1.0)


def one_row(x, rows):
    return x[rows[1]]


@pytest.mark.parametrize("function", [chosen, replaced, added, scattered, one_row])
def test_indices_out_of_range(function):
    x, rows = torch.randn(4, 4), torch.tensor([2, 1])
    run = load(function, x, rows)
    for row in (4, 2**40, 2**63 - 1, -5, -(2**63)):
        with pytest.raises((IndexError, RuntimeError)):
            function(x, torch.tensor([0, row]))
        fails(run, x, torch.tensor([0, row]), message="out of range", function=function)
    torch.testing.assert_close(run(x, rows), function(x, rows))


def one_column(x, rows):
    return x[:, rows.max()]


def one_of_a_mask(x, rows):
    return torch.index_put(x, (x[:, 0] > 0, rows[:1]), torch.ones(()))


@pytest.mark.parametrize("function", [chosen, replaced, one_row, one_column, one_of_a_mask])
def test_indices_from_the_back(function):
    x, rows = torch.randn(4, 4), torch.tensor([2, 1])
    run = load(function, x, rows)
    for rows in (torch.tensor([-1, -4]), torch.tensor([-3, -2])):
        torch.testing.assert_close(run(x, rows), function(x, rows))
    fails(run, x, torch.tensor([-5, -6]), message="index out of range", function=function)


def masked_sum(x, y):
    return x[x > 0] + y


def test_sizes_that_depend_on_data():
    x, y = torch.tensor([1.0, -2.0, 3.0]), torch.tensor([4.0, 5.0])
    run = load(masked_sum, x, y)
    assert torch.equal(run(x, y), masked_sum(x, y))
    with pytest.raises(RuntimeError):
        masked_sum(x.abs(), y)
    with pytest.raises(unmess.Error, match="sizes that must be equal differ"):
        run(x.abs(), y)


def test_equal_operations_at_two_lines():
    def function(x, first, second):
        a = x[first]
        return a, x[second]

    x, good, bad = torch.randn(4, 4), torch.tensor([0]), torch.tensor([4])
    run = load(function, x, good, torch.tensor([1]))
    for offset, rows in ((1, (bad, good)), (2, (good, bad))):
        with pytest.raises(unmess.Error, match="index out of range") as caught:
            run(x, *rows)
        assert caught.value.where == f"{__file__}:{function.__code__.co_firstlineno + offset}"


@pytest.fixture
def interrupted(python_command, tmp_path):
    """Returns the output of a script that gets SIGINT half a second after it prints `ready`."""

    def run(script: str) -> str:
        file = tmp_path / "script.py"
        file.write_text(textwrap.dedent(script))
        reading, writing = os.pipe()
        with open(reading) as output:
            try:
                worker = python_command.start(file, stdout=writing, stderr=2)
            finally:
                os.close(writing)
            with worker:
                assert output.readline() == "ready\n"
                time.sleep(0.5)
                os.kill(worker.pid, signal.SIGINT)
                assert worker.wait(60) == 0
            return output.read()

    return run


FOREVER = """
    import torch, unmess

    def forever(x):
        def step(x):
            return (x * torch.flip(x, (0,)),)
        return torch.while_loop(lambda x: x.sum() > 0, step, (x,))

    run = unmess.load(unmess.capture(forever, (torch.zeros(64),)), on="reference")
"""


def test_ctrl_c_ends_the_call_only(interrupted):
    script = """
    print("ready", flush=True)
    for _ in range(2):
        try:
            run(torch.ones(64))
        except KeyboardInterrupt:
            print("interrupted", run(torch.zeros(64))[0].sum().item())
            import os, signal, threading
            threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
    """
    assert interrupted(FOREVER + script) == "interrupted 0.0\n" * 2


def test_ctrl_c_while_several_threads_work(interrupted):
    """Interrupts calls anywhere between the parts of an operation split over several threads."""
    script = """
    import ctypes, os, signal, threading, torch, unmess
    torch.set_num_threads(4)

    def forever(x):
        def step(x):
            return ((x @ x).clamp(0, 1),)
        return torch.while_loop(lambda x: x.sum() > 0, step, (x,))

    run = unmess.load(unmess.capture(forever, (torch.zeros(256, 256),)), on="reference")

    def interrupt():
        threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)).start()

    print("ready", flush=True)
    ended = 0
    while ended < 20:
        try:
            if ended:
                interrupt()
            run(torch.ones(256, 256))
        except KeyboardInterrupt:
            ended += 1
    is_in_team = ctypes.CDLL("libgomp.so.1").omp_in_parallel()
    print(ended, run(torch.zeros(256, 256))[0].sum().item(), is_in_team)
    """
    assert interrupted(script) == "20 0.0 0\n"
