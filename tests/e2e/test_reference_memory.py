"""Tests for memory leaks: calls that pass, calls that fail, Executables that are dropped.

The C library's allocator counts the bytes that were not freed.
"""

import ctypes
import gc

import pytest
import torch
from torch._higher_order_ops.while_loop import while_loop

import unmess


class _Counters(ctypes.Structure):
    """The C library's `struct mallinfo2`."""

    _names = "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost"
    _fields_ = [(name, ctypes.c_size_t) for name in _names.split()]


_library = ctypes.CDLL(None)
_library.mallinfo2.restype = _Counters


def allocated() -> int:
    """Returns the number of bytes allocated and not freed, in the heap and in mapped blocks."""
    gc.collect()
    counters = _library.mallinfo2()
    return counters.uordblks + counters.hblkhd


def grows(call, times: int) -> float:
    """Returns the bytes that each of `times` calls leaks, on average."""
    for _ in range(10):
        call()
    before = allocated()
    for _ in range(times):
        call()
    return (allocated() - before) / times


def load(function, *args, dynamic_shapes=None):
    program = unmess.capture(function, args, dynamic_shapes=dynamic_shapes)
    return unmess.load(program, on="reference")


# Bytes per call. A program's blocks are larger than this, and what Python itself keeps is smaller.
LITTLE = 32


def test_calls_with_temporaries_and_dynamic_shapes():
    def function(x):
        y = torch.sort(x.cumsum(0), dim=0)[0]
        return y.t() @ y, y[x.sum(1) > 0]

    rows = torch.export.Dim("rows", min=2, max=64)
    run = load(function, torch.randn(3, 4), dynamic_shapes=({0: rows},))
    inputs = [torch.randn(size, 4) for size in (2, 3, 5, 8)]
    for x in inputs:
        torch.testing.assert_close(run(x), function(x))
    turns = iter(range(10**9))
    assert grows(lambda: run(inputs[next(turns) % len(inputs)]), 10_000) < LITTLE


def test_calls_with_control_flow():
    def function(x):
        def step(count, x):
            return count + 1, torch.cond(
                x.sum() > 0, lambda x: torch.flip(x, (0,)) / 2, lambda x: x.cumsum(0), (x,)
            )

        return while_loop(lambda count, _x: count < 5, step, (torch.tensor(0), x))[1]

    run = load(function, torch.randn(8))
    inputs = [torch.randn(8) for _ in range(4)]
    for x in inputs:
        torch.testing.assert_close(run(x), function(x))
    turns = iter(range(10**9))
    assert grows(lambda: run(inputs[next(turns) % len(inputs)]), 10_000) < LITTLE


def test_calls_that_fail():
    """Calls fail while temporaries of the entry function and of an operation in it are in use."""

    def function(x, rows):
        sums = x.cumsum(0)
        return torch.sort(sums, dim=0)[0][rows], sums

    run = load(function, torch.randn(4, 4), torch.tensor([0, 1]))
    x, bad = torch.randn(4, 4), torch.tensor([0, 4])

    def fail():
        with pytest.raises(unmess.Error):
            run(x, bad)

    assert grows(fail, 10_000) < LITTLE


def test_results_are_freed_in_any_order():
    run = load(lambda x: (x + 1, (x * 2).t(), x), torch.randn(64, 64))
    x = torch.randn(64, 64)

    def call():
        first, second, _third = run(x)
        del first
        second.zero_()

    assert grows(call, 1000) < LITTLE


def test_executables_that_are_dropped(monkeypatch, tmp_path):
    """Drops 300 Executables whose code is in the cache, and 20 whose code LLVM compiles."""
    x = torch.randn(4, 4)
    module = unmess.lower(unmess.capture(lambda x: (x * 2 + 1).cumsum(0), (x,)), to="linalg")

    def load_and_call():
        unmess.load(module, on="reference")(x)

    monkeypatch.setenv("UNMESS_CACHE", str(tmp_path))
    assert grows(load_and_call, 300) < 512
    monkeypatch.setenv("UNMESS_CACHE_MB", "0")
    assert grows(load_and_call, 20) < 2048
