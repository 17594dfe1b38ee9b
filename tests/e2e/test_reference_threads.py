"""Tests of calls from many threads at once and from threads with small stacks."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from torch._higher_order_ops.while_loop import while_loop

import unmess

THREADS = 8


def load(function, *args, dynamic_shapes=None):
    program = unmess.capture(function, args, dynamic_shapes=dynamic_shapes)
    return unmess.load(program, on="reference")


def in_threads(work, count=THREADS) -> list:
    """Returns the results of `work(number)`, called by `count` threads at the same time."""
    start = threading.Barrier(count)

    def started(number):
        start.wait()
        return work(number)

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(started, range(count)))


def test_dynamic_shapes_and_failures_in_eight_threads():
    """Each thread uses its own size. Every other call of threads with odd numbers fails."""

    def function(x, rows):
        return torch.sort(x.cumsum(0), dim=0)[0][rows]

    size = torch.export.Dim("size", min=2, max=64)
    example = torch.randn(3, 4), torch.tensor([0])
    run = load(function, *example, dynamic_shapes=({0: size}, None))

    def work(number):
        generator = torch.Generator().manual_seed(number)
        failed = 0
        for turn in range(100):
            x = torch.randn(2 + number, 4, generator=generator)
            if number % 2 and turn % 2:
                with pytest.raises(unmess.Error, match="index out of range"):
                    run(x, torch.tensor([2 + number]))
                failed += 1
            else:
                rows = torch.tensor([1 + number])
                torch.testing.assert_close(run(x, rows), function(x, rows))
        return failed

    assert in_threads(work) == [0, 50] * (THREADS // 2)


class Counter(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.zeros(4, dtype=torch.int64))

    def forward(self, x):
        self.count.add_(x)
        return self.count.clone()


def test_calls_that_change_state_are_atomic():
    """Each call sees the state that the last one left: no count is lost or seen twice."""
    one = torch.ones(4, dtype=torch.int64)
    run = load(Counter(), one)
    seen = in_threads(lambda _number: [run(one) for _ in range(100)])
    counts = [count.tolist() for counts in seen for count in counts]
    assert sorted(counts) == [[number] * 4 for number in range(1, 100 * THREADS + 1)]
    assert torch.equal(run.state["count"], one * 100 * THREADS)


def test_no_two_calls_draw_the_same_numbers():
    run = load(lambda x: torch.rand_like(x) + x * 0, torch.zeros(16))
    seen = in_threads(lambda _number: [run(torch.zeros(16)) for _ in range(50)])
    drawn = {tuple(sample.tolist()) for samples in seen for sample in samples}
    assert len(drawn) == 50 * THREADS


def test_executables_made_in_threads(monkeypatch):
    """Captures one program after the other, since PyTorch's export is not thread-safe."""
    monkeypatch.setenv("UNMESS_CACHE_MB", "0")
    x = torch.randn(4, 4)
    functions = [lambda x, factor=factor: (x * factor).cumsum(0) for factor in range(4)]
    programs = [unmess.capture(function, (x,)) for function in functions]
    runs = in_threads(lambda number: unmess.load(programs[number], on="reference"), 4)
    for run, function in zip(runs, functions, strict=True):
        torch.testing.assert_close(run(x), function(x))


def in_small_stack(call):
    """Returns the result of `call()` in a thread with Python's smallest stack: 32 KB."""
    results = []
    before = threading.stack_size(32 * 1024)
    try:
        thread = threading.Thread(target=lambda: results.append(call()))
        thread.start()
    finally:
        threading.stack_size(before)
    thread.join()
    (result,) = results
    return result


def test_small_stack_and_large_temporaries():
    def function(x):
        return torch.sort((x @ x.t()).cumsum(0), dim=0)[0]

    # Whole numbers, so that sums are exact.
    x = torch.randint(-9, 10, (128, 128)).float()
    run = load(function, x)
    assert torch.equal(in_small_stack(lambda: run(x)), function(x))


def test_small_stack_and_a_long_loop_over_dynamic_sizes():
    """A few bytes of stack for each iteration would overflow the stack."""

    def function(x):
        def step(count, x):
            return count + 1, torch.flip(x.cumsum(0), (0,)) / x.sum()

        return while_loop(lambda count, _x: count < 20_000, step, (torch.tensor(0), x))[0]

    size = torch.export.Dim("size", min=2, max=64)
    run = load(function, torch.rand(3, 4), dynamic_shapes=({0: size},))
    assert in_small_stack(lambda: run(torch.rand(5, 4))) == 20_000
