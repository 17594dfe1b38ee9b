"""Tests of the reference runner: memory, threads, run-time checks."""

import gc
import threading

import psutil
import pytest
import torch

import unmess
from pipelines.reference.execution.workspaces import Workspaces


def resident_mb() -> float:
    gc.collect()
    return psutil.Process().memory_info().rss / 2**20


def test_results_own_their_memory_after_the_executable_is_gone():
    x = torch.randn(1000)
    run = unmess.load(unmess.capture(lambda x: (x + 1, x * 2), (x,)), on="reference")
    first, second = run(x)
    del run
    gc.collect()
    torch.randn(10_000)
    assert torch.equal(first, x + 1)
    assert torch.equal(second, x * 2)


def test_a_result_that_is_the_beginning_of_another():
    def function(x, y):
        product = torch.mv(x, y)
        return product[:1], product.unfold(0, 2, 1), product.flatten()

    args = torch.randn(5, 6), torch.randn(6)
    run = unmess.load(unmess.capture(function, args), on="reference")
    for ours, theirs in zip(run(*args), function(*args), strict=True):
        torch.testing.assert_close(ours, theirs)


def test_results_share_no_memory():
    """A copy of a result is equal to it, but the caller may write either."""

    def function(x):
        y = x + 1
        return y, y.clone(), x + 1, y.reshape(-1) + 0, y[1:].clone(), y.t().contiguous().t()

    x = torch.arange(6.0).reshape(2, 3)
    compiled = torch.compile(function, backend="unmess", fullgraph=True)
    for run in (unmess.load(unmess.capture(function, (x,)), on="reference"), compiled):
        results = run(x)
        for number, result in enumerate(results):
            result.fill_(number)
        for number, result in enumerate(results):
            assert bool((result == number).all())


def test_calls_do_not_leak():
    """200 calls with 1 MB buffers. Leaking one buffer per call would lose 200 MB."""

    def function(x):
        y = torch.softmax(x, dim=-1)
        return y.t().contiguous() @ x[:, :8], y

    x = torch.randn(512, 512)
    run = unmess.load(unmess.capture(function, (x,)), on="reference")
    for _ in range(3):
        run(x)
    before = resident_mb()
    for _ in range(200):
        run(x)
    assert resident_mb() - before < 20


def test_dynamic_shapes_and_control_flow_do_not_leak():
    def function(x):
        return torch.sort(x.cumsum(0), dim=0)[0] * 2

    rows = torch.export.Dim("rows", min=2, max=4096)
    program = unmess.capture(function, (torch.randn(8, 64),), dynamic_shapes=({0: rows},))
    run = unmess.load(program, on="reference")
    torch.testing.assert_close(run(torch.ones(5, 64)), function(torch.ones(5, 64)))
    before = resident_mb()
    for rows in range(100):
        run(torch.randn(500 + rows, 64))
    assert resident_mb() - before < 20


def test_dropping_executables_gives_their_memory_back(monkeypatch):
    # Disables the cache, so that each Executable is compiled.
    monkeypatch.setenv("UNMESS_CACHE_MB", "0")
    x = torch.randn(4, 4)
    program = unmess.capture(torch.nn.Linear(4, 4), (x,))
    for _ in range(3):
        unmess.load(program, on="reference")(x)
    before = resident_mb()
    for _ in range(15):
        unmess.load(program, on="reference")(x)
    assert resident_mb() - before < 15


def embed(tokens, table):
    return torch.nn.functional.embedding(tokens, table) * 2


def test_index_out_of_range_is_an_error_with_the_users_line():
    table = torch.randn(10, 4)
    program = unmess.capture(embed, (torch.tensor([1, 2]), table))
    run = unmess.load(program, on="reference")
    with pytest.raises(unmess.Error, match="index out of range") as caught:
        run(torch.tensor([1, 10]), table)
    assert caught.value.stage == "run"
    line = embed.__code__.co_firstlineno + 1
    assert caught.value.where == f"{__file__}:{line}"
    tokens = torch.tensor([9, 0])
    assert torch.equal(run(tokens, table), embed(tokens, table)), "the process goes on working"


def test_eight_threads_on_one_executable():
    model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.Softmax(-1)).eval()
    run = unmess.load(unmess.capture(model, (torch.randn(16, 64),)), on="reference")
    wrong = []

    def work(seed):
        generator = torch.Generator().manual_seed(seed)
        for _ in range(20):
            x = torch.randn(16, 64, generator=generator)
            with torch.no_grad():
                if not torch.allclose(run(x), model(x), atol=1e-6):
                    wrong.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_failed_check_affects_its_thread_only():
    table = torch.randn(10, 4)
    run = unmess.load(unmess.capture(embed, (torch.tensor([1, 2]), table)), on="reference")
    failed, passed = [], []

    def work(number):
        for _ in range(50):
            try:
                run(torch.tensor([number, 10 if number % 2 else 9]), table)
                passed.append(number)
            except unmess.Error:
                failed.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(failed) == {1, 3} and len(failed) == 100
    assert set(passed) == {0, 2} and len(passed) == 100


def test_inputs_and_weights_are_not_written():
    """`slice_scatter` becomes `tensor.insert_slice`, which bufferization would do in place."""

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.zeros(4, 8))

        def forward(self, x, row):
            return tuple(torch.slice_scatter(t, row, 0, 1, 2) for t in (x, self.weight))

    model, x, row = Model(), torch.zeros(4, 8), torch.ones(1, 8)
    run = unmess.load(unmess.capture(model, (x, row)), on="reference")
    with torch.no_grad():
        expected = model(x, row)
    for _ in range(2):
        for ours, theirs in zip(run(x, row), expected, strict=True):
            assert torch.equal(ours, theirs)
    assert not x.any() and not model.weight.any()


def test_memory_is_not_reused_before_the_last_scatter_has_read_it():
    """Scatters read through views that bufferization does not track."""
    indices = torch.tensor([[0, 2], [1, 3], [4, 0]])

    def scatters(x, y):
        return (
            x.scatter(1, indices, y),
            x.scatter(1, indices, 1.5),
            x.scatter_add(1, indices, y),
            x.scatter_reduce(1, indices, y, "amax"),
        )

    program = unmess.capture(scatters, (torch.randn(3, 5), torch.randn(3, 2)))
    report = unmess.check(program, on="reference", calls=1)
    assert report.ok, report.error


def gathers_rows(x, index):
    return (x @ x).softmax(-1)[index].cumsum(0)


def test_a_call_that_fails_gives_its_workspace_back():
    x = torch.randn(256, 256)
    program = unmess.capture(gathers_rows, (x, torch.tensor([1])))
    run = unmess.load(program, on="reference")
    good = torch.tensor([3])
    torch.testing.assert_close(run(x, good), gathers_rows(x, good))
    workspace = Workspaces._free[-1]
    with pytest.raises(unmess.Error, match="index out of range"):
        run(x, torch.tensor([256]))
    assert Workspaces._free[-1] is workspace
    torch.testing.assert_close(run(x, good), gathers_rows(x, good))
    assert Workspaces._free[-1] is workspace
