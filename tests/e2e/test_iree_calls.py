"""Calls on IREE's CPU runner: ownership of memory, updates in place, and threads."""

import asyncio
import gc
import itertools
import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from torch._higher_order_ops.while_loop import while_loop

import unmess


def loaded(model, *args):
    return unmess.load(unmess.capture(model, args), on="iree-cpu")


def test_arguments_and_results_are_not_copied(monkeypatch):
    run = loaded(lambda x: x * 2, torch.randn(1000, 100))
    given, made = [], []
    to_device, to_torch = run._program._transfer.to_device, run._program._transfer.to_torch

    def there(tensor):
        given.append(to_device(tensor))
        return given[-1]

    def back(view, dtype):
        made.append(view)
        return to_torch(view, dtype)

    monkeypatch.setattr(run._program._transfer, "to_device", there)
    monkeypatch.setattr(run._program._transfer, "to_torch", back)
    x = torch.randn(1000, 100)
    before = x.clone()
    result = run(x)
    assert torch.equal(result, before * 2)
    assert address(given[0]) == x.data_ptr()
    assert address(made[0]) == result.data_ptr()
    assert torch.equal(x, before)


def address(view):
    return view.map().asarray((1,), np.dtype(np.uint8)).ctypes.data


def test_memory_that_is_not_aligned_is_copied():
    # Compiled code would crash on unaligned memory.
    memory = torch.randn(64 * 64 + 3)
    run = loaded(lambda x: torch.softmax(x @ x, -1) * x, torch.randn(64, 64))
    for offset in range(4):
        x = memory[offset : offset + 64 * 64].view(64, 64)
        torch.testing.assert_close(run(x), torch.softmax(x @ x, -1) * x)


def test_results_own_their_memory():
    class Module(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.randn(8, 64))

        def forward(self, x):
            y = x + 1
            return x, x[:2], y, y, y.view(-1), self.weight, self.weight.t(), torch.arange(8.0)

    model = Module()
    x = torch.randn(8, 64)
    run = loaded(model, x)
    given, weight = x.clone(), model.weight.detach().clone()
    expected = [tensor.detach().clone() for tensor in model(x)]
    first = run(x)
    for index, tensor in enumerate(first):
        tensor.zero_()
        for other in range(index + 1, len(first)):
            assert torch.equal(first[other], expected[other])
    assert torch.equal(x, given) and torch.equal(model.weight, weight)
    for ours, theirs in zip(run(x), expected, strict=True):
        assert torch.equal(ours, theirs)


def test_results_outlive_the_executable():
    x = torch.randn(300, 300)
    run = loaded(lambda x: x @ x, x)
    result = run(x)
    kept = result.clone()
    torch.testing.assert_close(result, x @ x, atol=1e-4, rtol=1e-4)
    del run
    gc.collect()
    assert torch.equal(result, kept)


def test_global_variables_at_exit(tmp_path):
    """At exit, Python clears the modules of IREE before those that other objects refer to.

    IREE's bindings print each of their objects that still exists at exit.
    """
    script = tmp_path / "script.py"
    script.write_text(
        "import sys, torch, unmess\n"
        "torch.script_of_the_user = sys.modules['__main__']\n"
        "class Model(torch.nn.Linear):\n"
        "    def forward(self, x):\n"
        "        return x\n"
        "scripted = torch.jit.script(Model(4, 40))  # PyTorch never frees the class.\n"
        "x = torch.ones(3, 4)\n"
        "run = unmess.load(unmess.capture(torch.nn.Linear(4, 40), (x,)), on='iree-cpu')\n"
        "result = run(x)\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_exit_waits_until_iree_has_released_the_arguments(tmp_path):
    """PyTorch takes the GIL to release an argument. The process aborts if Python is exiting.

    A thread that keeps an argument takes the place of IREE's thread, which is usually faster.
    """
    script = tmp_path / "script.py"
    script.write_text(
        "import threading, time, torch, unmess\n"
        "x = torch.ones(30, 40)\n"
        "run = unmess.load(unmess.capture(torch.nn.ReLU(), (x,)), on='iree-cpu')\n"
        "transfer, kept = run._program._transfer, []\n"
        "to_device = transfer.to_device\n"
        "transfer.to_device = lambda tensor: kept.append(to_device(tensor)) or kept[-1]\n"
        "run(x)\n"
        "def release():\n"
        "    time.sleep(0.3)\n"
        "    print('released', flush=True)\n"
        "    kept.clear()\n"
        "threading.Thread(target=release, daemon=True).start()\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "released\n", "")


SHIFTED = {
    "index_copy": lambda x, i: x.index_copy(0, i, x[:15]),
    "index_add": lambda x, i: x.index_add(0, i, x[:15]),
    "index_put": lambda x, i: x.index_put((i,), x[10:25], accumulate=True),
    "columns": lambda x, i: x.index_copy(1, i, x[:, 5:20]),
    "of a computed tensor": lambda x, i: (x * 2, (x * 2).index_copy(0, i, (x * 2)[::2][:15])),
    "slice_scatter": lambda x, i: torch.slice_scatter(x, x[:-1], 0, 1, 37),
    "in a loop": lambda x, i: while_loop(
        lambda n, x: n < 3,
        lambda n, x: (n + 1, torch.slice_scatter(x, x[:-1].clone(), 0, 1, 37)),
        (torch.tensor(0), x),
    ),
}


def test_updates_that_are_views_of_the_updated_tensor():
    def model(x, i):
        return [function(x, i) for function in SHIFTED.values()]

    x, i = torch.randn(37, 261), torch.randperm(37)[:15]
    report = unmess.check(unmess.capture(model, (x, i)), on="iree-cpu", calls=1)
    assert report.ok, report.error


# Operations that IREE computes in place, or that read the tensor.
UPDATES = {
    "index_put": lambda x, i: x.index_put((i,), x[:2] * 0),
    "index_add": lambda x, i: x.index_add(0, i, x[1:3]),
    "index_fill": lambda x, i: x.index_fill(0, i, 7.0),
    "slice_scatter": lambda x, i: torch.slice_scatter(x, x[:2] * 2, 0, 1, 3),
    "scatter": lambda x, i: x.scatter_reduce(0, i[:, None].expand(2, 5), x[:2], "amax"),
    "masked_scatter": lambda x, i: x.masked_scatter(x > 0, x * 2),
    "sort": lambda x, i: x.sort(-1),
    "argsort": lambda x, i: x.argsort(0),
    "argsort of argsort": lambda x, i: x.argsort(0).argsort(0),
    "topk": lambda x, i: x.topk(2, -1),
    "product": lambda x, i: x @ x.mT,
}


@pytest.mark.parametrize("is_dynamic", [False, True])
def test_updates_of_one_tensor_do_not_change_each_other(is_dynamic):
    """Slices, a computed tensor, and one that is computed from sizes alone."""

    def model(x, i):
        rows, columns = x[0].shape
        constant = torch.arange(rows * columns, dtype=x.dtype).view(rows, columns)
        tensors = x[1], x[:, 2], (x * 2)[..., 1], x[0].exp(), constant
        return [x[0], *(update(each, i) for each in tensors for update in UPDATES.values())]

    args = torch.randn(5, 5, 5), torch.tensor([2, 0])
    sizes = (dict.fromkeys(range(3), torch.export.Dim.DYNAMIC), None) if is_dynamic else None
    program = unmess.capture(model, args, dynamic_shapes=sizes)
    report = unmess.check(program, on="iree-cpu", calls=1)
    assert report.ok, report.error


def test_updates_of_slices_in_a_loop():
    """IREE computes the indices that a sort updates once, before the loop."""

    rows = torch.tensor([2, 0])

    def step(n, x):
        row = x[0].index_put((rows,), x[1, :2])
        return n + 1, (row + x * x[1].sort(0).indices).sin()

    def model(x):
        return while_loop(lambda n, x: n < 3, step, (torch.tensor(0), x))

    report = unmess.check(unmess.capture(model, (torch.randn(5, 5, 5),)), on="iree-cpu", calls=1)
    assert report.ok, report.error


def test_operations_that_read_more_tensors_than_a_kernel_has_buffers():
    def model(*xs):
        part = sum(xs[:40])
        product = sum(xs[:20]) @ sum(x.T for x in xs[:40]) + sum(x @ x.T for x in xs[20:50])
        return (
            *(sum(xs), product, torch.stack(xs).sin(), torch.stack([x.max() for x in xs])),
            *(sum(xs).sum(0) + part, sum(xs).softmax(-1) + part, sum(x.sum() for x in xs)),
            list(itertools.accumulate(xs)),
        )

    program = unmess.capture(model, tuple(torch.randn(70, 7, 3)))
    report = unmess.check(program, on="iree-cpu", calls=1)
    assert report.ok, report.error


def test_more_checks_than_a_kernel_has_buffers():
    """Each index is a tensor of its own, with a check of its own."""

    def model(x, *indices):
        return sum(x[i] for i in indices)

    x, indices = torch.randn(7, 3), [torch.tensor([n % 7, -n % 7]) for n in range(70)]
    run = unmess.load(unmess.capture(model, (x, *indices)), on="iree-cpu")
    torch.testing.assert_close(run(x, *indices), model(x, *indices))
    for wrong in (0, 40, 69):
        indices[wrong] = torch.tensor([0, 7])
        with pytest.raises(unmess.Error, match="out of range"):
            run(x, *indices)
        indices[wrong] = torch.tensor([0, 6])


def test_updates_that_are_converted_to_a_wider_type():
    """The converted updates are larger than the stack of a kernel."""

    def model(x, y, i):
        return (
            x.index_add(0, i, y.float()),
            x.to(torch.int8).index_add(0, i, y.to(torch.int8)),
            (x > 0).index_put((i,), y > 0, accumulate=True),
        )

    args = torch.randn(37, 261), torch.randn(501, 261).half(), torch.randint(0, 37, (501,))
    report = unmess.check(unmess.capture(model, args), on="iree-cpu", calls=1)
    assert report.ok, report.error


def test_the_next_call_does_not_change_returned_state():
    class Counter(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("total", torch.zeros(64))
            self.register_buffer("last", torch.zeros(64))

        def forward(self, x):
            self.last.copy_(x)
            self.total += x
            return self.total

    run = loaded(Counter(), torch.ones(64))
    x = torch.ones(64)
    first, second = run(x), run(x)
    assert torch.equal(first, torch.ones(64)) and torch.equal(second, torch.full((64,), 2.0))
    kept = run.state["last"]
    x.zero_()
    assert torch.equal(kept, torch.ones(64)), "state is not the caller's memory"
    second.zero_()
    assert torch.equal(run(torch.ones(64)), torch.full((64,), 3.0))


def network():
    torch.manual_seed(0)
    layers = torch.nn.Linear(32, 64), torch.nn.GELU(), torch.nn.Linear(64, 32)
    return torch.nn.Sequential(*layers).eval()


def test_updated_arguments_are_copied():
    def update(x, row):
        y = x.slice_scatter(row, 0, 1, 2)
        return y, x.view(2, 2, 64).index_put((torch.tensor([1]),), row[0]), x * 2, x.T

    x, row = torch.zeros(4, 64), torch.ones(1, 64)
    expected = update(x, row)
    results = loaded(update, x, row)(x, row)
    assert not x.any()
    for result, other in zip(results, expected, strict=True):
        assert torch.equal(result, other)


def test_updated_weights_are_copied():
    class Module(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.zeros(4, 64))

        def forward(self, row):
            return self.weight.slice_scatter(row, 0, 1, 2)

    model, row = Module(), torch.ones(1, 64)
    run = loaded(model, row)
    for factor in (1, 2):
        assert torch.equal(run(factor * row), model(factor * row))
    assert not model.weight.any()


class Cache(torch.nn.Module):
    """Takes a cache and returns the updated one."""

    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(64, 64)

    def forward(self, row, rows, before):
        return (
            rows.slice_scatter(self.layer(row), 0, 1, 2),
            before,
            before.slice_scatter(row, 0, 0, 1),
        )


def test_inputs_that_are_updated_once_are_copied():
    model, row = Cache(), torch.randn(1, 64)
    rows, before = torch.zeros(4, 64), torch.zeros(4, 64)
    run = loaded(model, row, rows, before)
    for result, expected in zip(
        run(row, rows, before), model(row, rows, before.clone()), strict=True
    ):
        torch.testing.assert_close(result, expected)
    assert not rows.any() and not before.any()


class Row(torch.nn.Module):
    """Writes one row of its state. If `before`, also returns the old state."""

    def __init__(self, before):
        super().__init__()
        self.before = before
        self.register_buffer("rows", torch.zeros(4, 64))

    def forward(self, row):
        old = self.rows.clone()
        self.rows.copy_(self.rows.slice_scatter(row, 0, 1, 2))
        return (row.sum(), old) if self.before else row.sum()


def test_state_is_updated_in_place():
    row = torch.ones(1, 64)
    run = loaded(Row(before=False), row)
    kept = run.state["rows"]
    for factor in range(1, 4):
        run(factor * row)
        # The same storage object: calls neither move the state nor add owners.
        assert run.state["rows"].untyped_storage()._cdata == kept.untyped_storage()._cdata
        assert torch.equal(kept[1], factor * row[0])


def test_state_is_copied_if_its_old_value_is_returned():
    model, row = Row(before=True), torch.ones(1, 64)
    run = loaded(model, row)
    for factor in range(1, 4):
        assert torch.equal(run(factor * row)[1], model(factor * row)[1])
        assert torch.equal(run.state["rows"], model.rows)


def test_eight_threads_get_their_own_results():
    model = network()
    run = loaded(model, torch.randn(4, 32))
    barrier = threading.Barrier(8)

    def calls(seed):
        generator = torch.Generator().manual_seed(seed)
        barrier.wait()
        for _ in range(25):
            x = torch.randn(4, 32, generator=generator)
            with torch.no_grad():
                torch.testing.assert_close(run(x), model(x))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(calls, range(8)))


def test_eight_threads_advance_one_state():
    class Counter(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("total", torch.zeros(3, dtype=torch.int64))

        def forward(self, x):
            self.total += x
            return self.total + 0

    run = loaded(Counter(), torch.ones(3, dtype=torch.int64))
    one = torch.ones(3, dtype=torch.int64)
    with ThreadPoolExecutor(8) as pool:
        seen = list(pool.map(lambda _: int(run(one)[0]), range(80)))
    assert sorted(seen) == list(range(1, 81))
    assert run.state["total"].tolist() == [80] * 3


def test_idle_threads_of_pytorch_end_before_a_long_call():
    """They spin, and IREE needs the cores."""
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        x = torch.randn(1000, 1000)
        run = loaded(torch.cos, x)
        run(x)
        without = set(os.listdir("/proc/self/task"))
        run = loaded(torch.cos, x)  # the first call counts as long
        expected = torch.cos(x)
        assert len(set(os.listdir("/proc/self/task")) - without) == 2
        result = run(x)
        assert set(os.listdir("/proc/self/task")) <= without
        torch.testing.assert_close(result, expected)  # uses PyTorch's threads again
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("runner", ["iree-cpu", "reference"])
def test_a_call_may_be_awaited(runner):
    x = torch.randn(700, 700)

    def function(x):
        for _ in range(20):
            x = torch.tanh(x @ x)
        return x

    run = unmess.load(unmess.capture(function, (x,)), on=runner)
    expected = run(x)

    async def main():
        ticks = []

        async def clock():
            while True:
                ticks.append(time.perf_counter())
                await asyncio.sleep(0.001)

        watch = asyncio.create_task(clock())
        results = await asyncio.gather(run.call_async(x), run.call_async(x=x))
        watch.cancel()
        return results, ticks

    results, ticks = asyncio.run(main())
    assert all(torch.equal(result, expected) for result in results)
    assert len(ticks) > 2, "the event loop stood still"


@pytest.mark.parametrize(
    "dtype",
    [
        *(torch.float8_e4m3fn, torch.float8_e4m3fnuz, torch.float8_e5m2, torch.float8_e5m2fnuz),
        torch.float8_e8m0fnu,
    ],
    ids=str,
)
def test_eight_bit_floats_go_in_and_come_out(dtype):
    """All 256 of them are cast, with NaN, infinity and subnormal numbers."""
    x, y = torch.randn(40), torch.arange(256, dtype=torch.uint8).view(dtype)

    def casts(x, y):
        narrow = [each.to(dtype) for each in (x, x.half(), x.double())]
        return *narrow, y.float(), y.half(), y.double(), y.bfloat16()

    for ours, theirs in zip(loaded(casts, x, y)(x, y), casts(x, y), strict=True):
        assert ours.dtype == theirs.dtype
        torch.testing.assert_close(ours.float(), theirs.float(), rtol=0, atol=0, equal_nan=True)
