"""Workers: forks of a parent that has imported libraries, or fresh interpreters."""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest
import torch

from tests.shared.processes import is_gone, wait_until
from unmess.core.processes.workers import Died, Parent, each_in_workers
from unmess.core.processes.workers.preloading import preload, thread_count
from unmess.core.processes.workers.worker import _Lines

MODULE = """
import os, random, signal, subprocess, sys, time

def work(item):
    if item == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    if item == "hang":
        time.sleep(60)
    if item == "raise":
        raise ValueError("no")
    return item, os.getpid()

IMPORTED_IN = os.getpid()

def imported_here(send):
    send(IMPORTED_IN == os.getpid())

def tell(send):
    send(sorted(sys.modules))

def settings(send):
    send((os.getcwd(), os.environ.get("UNMESS_TEST"), sys.argv, sys.path[0]))

def draw(send):
    import numpy
    send((random.random(), numpy.random.rand()))

KEPT = []

def folder(send):
    from unmess.core.processes.temporary_folders import temporary_folder
    KEPT.append(temporary_folder())
    send(KEPT[0].name)
    raise ValueError("no")

def folder_of_a_killed_worker(send):
    from unmess.core.processes.temporary_folders import temporary_folder
    KEPT.append(temporary_folder())
    send(KEPT[0].name)
    time.sleep(60)

def threads(send):
    send(len(os.listdir("/proc/self/task")))

def grow(send, megabytes):
    memory = b"x" * (megabytes << 20)
    send(len(memory))

def descriptors(send):
    paths = [f"/proc/self/fd/{each}" for each in os.listdir("/proc/self/fd")]
    send([os.readlink(path) for path in paths if os.path.exists(path)])

def grandchild(send):
    process = subprocess.Popen(["sleep", "60"])
    send((os.getpid(), process.pid))
    time.sleep(60)

def prints(send):
    print("out")
    os.system("echo from another program")
    print("err", file=sys.stderr)
    sys.stdout.write("no newline")

def interrupted(send):
    try:
        send("ready")
        time.sleep(60)
    except KeyboardInterrupt:
        send("interrupted")
    return 130

def large(send):
    send(bytes(10_000_000))

def unpicklable(send):
    send(lambda: None)

def multiply(send):
    import torch
    x = torch.ones(600, 600)
    send(float((x @ x).sum()))

def preload_libraries(send):
    from unmess.core.processes.workers.preloading import preload, thread_count
    from unmess.isolated import libraries_of
    before = [name for name in ("torch", "transformers") if name in sys.modules]
    preload(libraries_of(["hf:bert", "torchvision:resnet18"], ["iree-cpu"]))
    after = [name for name in ("transformers", "iree.runtime") if name in sys.modules]
    send((before, after, thread_count()))
"""


@pytest.fixture(scope="module")
def module(tmp_path_factory):
    """Writes a user's module that only workers may import. Yields a formatter of function names."""
    folder = tmp_path_factory.mktemp("workers")
    (folder / "users_module.py").write_text(MODULE)
    sys.path.insert(0, str(folder))
    yield "users_module:{}".format
    sys.path.remove(str(folder))


@pytest.fixture(scope="module", params=["fork", "fresh"])
def parent(request, module):
    """Yields a parent of workers: in turn, one that forks and one that starts interpreters."""
    with Parent(["json.tool"], fork=request.param == "fork") as parent:
        parent.kind = request.param
        yield parent


def messages(parent, function, *arguments, **options):
    with parent.start(function, *arguments, **options) as worker:
        worker.allow(60)
        return [*worker.messages()]


def test_temporary_folders_are_removed(parent, module):
    """Even if an object that is never deleted refers to the folder, and after an exception."""
    (path,) = messages(parent, module("folder"))
    assert not os.path.exists(path)


def test_temporary_folders_of_a_killed_worker_are_removed(parent, module):
    with parent.start(module("folder_of_a_killed_worker")) as worker:
        path = next(worker.messages())
        assert os.path.exists(path)
    assert not os.path.exists(path)


def test_each_item_gets_its_result_in_order(parent, module):
    items = [1, "crash", 2, "raise", 3, "hang", 4, "crash"]
    results = list(each_in_workers(parent, items, module("work"), timeout=3.0))
    assert [result.cause for result in results if isinstance(result, Died)] == [
        "crashed with SIGSEGV",
        "the process ended with status 1",
        "timed out after 3 s",
        "crashed with SIGSEGV",
    ]
    assert [result[0] for result in results if not isinstance(result, Died)] == [1, 2, 3, 4]


def test_one_worker_does_all_the_work_if_nothing_fails(parent, module):
    results = list(each_in_workers(parent, range(5), module("work"), timeout=30.0))
    assert len({pid for _, pid in results}) == 1
    assert os.getpid() not in {pid for _, pid in results}


def test_a_caller_that_stops_early_leaves_no_process(parent, module):
    results = each_in_workers(parent, [1, "hang"], module("work"), timeout=30.0)
    _, pid = next(results)
    results.close()
    assert is_gone(pid)


def test_the_parent_has_imported_libraries_and_no_users_module(parent, module):
    for _ in range(2):
        (names,) = messages(parent, module("tell"))
        assert ("json.tool" in names) == (parent.kind == "fork")
        assert messages(parent, module("imported_here")) == [True]


def test_settings_are_those_of_the_request(parent, module, tmp_path):
    environment = {**os.environ, "UNMESS_TEST": "yes"}
    options = {"folder": tmp_path, "environment": environment, "argv": ["a", "b"]}
    ((folder, value, argv, path),) = messages(parent, module("settings"), **options)
    assert (folder, value, argv) == (str(tmp_path), "yes", ["a", "b"])
    assert path == sys.path[0]


def test_workers_draw_different_numbers(parent, module):
    drawn = [messages(parent, module("draw"))[0] for _ in range(2)]
    assert len({each[0] for each in drawn}) == len({each[1] for each in drawn}) == 2


def test_peak_memory_is_that_of_the_worker(parent, module):
    peaks = []
    for megabytes in (300, 1):
        with parent.start(module("grow"), megabytes) as worker:
            list(worker.messages())
        peaks.append(worker.peak_rss_mb)
    assert peaks[0] > 300
    assert peaks[1] < peaks[0] - 250


def test_a_worker_has_only_its_own_descriptors(parent, module):
    with parent.start(module("interrupted")) as other:
        _ = other.pid
        (numbers,) = messages(parent, module("descriptors"))
    # Three standard streams and the channel for messages.
    assert len(numbers) == 4, numbers


def test_child_processes_end_with_their_worker(parent, module):
    with parent.start(module("grandchild")) as worker:
        pids = next(worker.messages())
    for pid in pids:
        wait_until(lambda pid=pid: is_gone(pid))


def test_output_comes_line_by_line(parent, module):
    lines = []
    with parent.start(module("prints")) as worker:
        assert [*worker.messages(lines.append)] == []
    assert worker.status == 0
    assert sorted(lines) == ["err", "from another program", "no newline", "out"]


def test_a_worker_can_be_interrupted(parent, module):
    with parent.start(module("interrupted")) as worker:
        received = worker.messages()
        assert next(received) == "ready"
        os.kill(worker.pid, signal.SIGINT)
        assert [*received] == ["interrupted"]
    assert (worker.status, worker.death) == (130, None)


def test_a_long_message(parent, module):
    assert messages(parent, module("large")) == [bytes(10_000_000)]


def test_a_message_that_cannot_be_sent(parent, module):
    lines = []
    with parent.start(module("unpicklable")) as worker:
        assert [*worker.messages(lines.append)] == []
    assert worker.death == "the process ended with status 1"
    assert any("pickle" in line for line in lines)


def test_workers_at_the_same_time(parent, module):
    workers = [parent.start(module("interrupted")) for _ in range(3)]
    assert len({worker.pid for worker in workers}) == 3
    for worker in workers:
        worker.end()
        assert worker.status == -signal.SIGKILL


def test_the_parent_is_started_again_if_somebody_ends_it(module):
    with Parent() as parent:
        messages(parent, module("tell"))
        os.kill(parent._pid, signal.SIGKILL)
        wait_until(lambda: is_gone(parent._pid))
        assert messages(parent, module("tell"))


def test_a_worker_ends_with_the_parent(module):
    with Parent() as parent, parent.start(module("interrupted")) as worker:
        assert next(worker.messages()) == "ready"
        os.kill(parent._pid, signal.SIGKILL)
        wait_until(lambda: is_gone(worker.pid))


def test_parent_and_worker_end_with_the_calling_process(module, tmp_path):
    script = f"""
import sys
from unmess.core.processes.workers import Parent
parent = Parent()
worker = parent.start({module("interrupted")!r})
next(worker.messages())
print(parent._pid, worker.pid, flush=True)
sys.stdin.read()
"""
    path = os.pathsep.join(sys.path)
    with subprocess.Popen(
        [sys.executable, "-c", script],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    ) as process:
        pids = list(map(int, process.stdout.readline().split()))
        assert not any(map(is_gone, pids))
        process.kill()
    wait_until(lambda: all(map(is_gone, pids)))


def test_a_parent_with_threads_is_not_forked(module, tmp_path):
    (tmp_path / "starts_a_thread.py").write_text(
        "import threading, time\n"
        "threading.Thread(target=time.sleep, args=(60,), daemon=True).start()\n"
    )
    sys.path.insert(0, str(tmp_path))
    try:
        with Parent(["starts_a_thread"]) as parent:
            (names,) = messages(parent, module("tell"))
    finally:
        sys.path.remove(str(tmp_path))
    assert "starts_a_thread" not in names


def test_a_start_up_variable_needs_a_fresh_interpreter(module):
    environment = {**os.environ, "PYTHONWARNINGS": "ignore"}
    with Parent(["json.tool"]) as parent:
        _, (forked,) = messages(parent, module("tell")), messages(parent, module("tell"))
        (fresh,) = messages(parent, module("tell"), environment=environment)
    assert "json.tool" in forked and "json.tool" not in fresh


def test_a_capture_does_not_make_workers_fresh_interpreters(module, monkeypatch, tmp_path):
    """The first capture in a process sets an environment variable of PyTorch."""
    monkeypatch.delenv("TORCHINDUCTOR_CACHE_DIR", raising=False)
    with Parent(["json.tool"]) as parent:
        parent.begin()
        torch.export.export(torch.nn.ReLU(), (torch.ones(2),)).run_decompositions()
        if "TORCHINDUCTOR_CACHE_DIR" not in os.environ:
            # This was not the first capture, because other tests ran in this process.
            monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
        (names,) = messages(parent, module("tell"))
    assert "json.tool" in names


def test_preloaded_libraries_leave_one_thread(module, torch_parent):
    # The parent forks this worker only if PyTorch left it with one thread.
    assert messages(torch_parent, module("preload_libraries")) == [
        (["torch"], ["transformers", "iree.runtime"], 1)
    ]


def test_parallel_regions_work_in_workers(module, torch_parent):
    for _ in range(2):
        assert messages(torch_parent, module("multiply")) == [600.0**3]


def test_threads_are_counted():
    before = thread_count()
    event = threading.Event()
    thread = threading.Thread(target=event.wait)
    thread.start()
    assert thread_count() == before + 1
    event.set()
    thread.join()


def test_a_module_that_cannot_be_imported_is_left_out():
    preload(["no_such_module_at_all"])


def test_functions_of_a_script_are_refused():
    def function(send):
        raise AssertionError

    function.__module__ = "__main__"
    with pytest.raises(ValueError, match="in __main__"), Parent() as parent:
        parent.start(function)


def test_partial_lines_are_joined():
    lines = _Lines()
    assert lines.feed(b"one\ntw") == ["one"]
    assert lines.feed(b"o") == []
    assert lines.feed(b"\n\xc3") == ["two"]
    assert lines.feed(b"\xa9\n") == ["é"]
    assert lines.feed(b"\xff\n") == ["\N{REPLACEMENT CHARACTER}"]


def test_the_timeout_begins_when_the_worker_starts(module, tmp_path, monkeypatch):
    (tmp_path / "takes_long.py").write_text("import time\ntime.sleep(2)\n")
    monkeypatch.syspath_prepend(tmp_path)
    with Parent(["takes_long"]) as parent, parent.start(module("draw")) as worker:
        worker.allow(1.9)
        assert len([*worker.messages()]) == 1
    assert worker.death is None


def test_a_closed_parent_starts_no_worker(module):
    parent = Parent()
    messages(parent, module("tell"))
    parent.close()
    with pytest.raises(OSError, match="closed"):
        parent.start(module("tell"))


def test_closing_the_parent_stops_its_imports(tmp_path, monkeypatch):
    (tmp_path / "takes_very_long.py").write_text("import time\ntime.sleep(60)\n")
    monkeypatch.syspath_prepend(tmp_path)
    start = time.monotonic()
    with Parent(["takes_very_long"]) as parent:
        parent.begin()
        time.sleep(0.5)
    assert time.monotonic() - start < 30
