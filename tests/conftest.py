"""Fixtures that all Python tests share."""

import atexit
import contextlib
import gc
import os
import resource
import signal
import sys
import time

import command_line
import psutil
import pytest
from command_line import CommandLine

from tools.required import VARIABLE, is_required
from unmess.core.garbage import exclude_all_objects
from unmess.core.processes.workers import Parent
from unmess.core.processes.workers.parent import start_up_variables
from unmess.isolated import shared_parent

# Tests start many Python processes. Without bytecode files, each one compiles the libraries, which
# takes several seconds. PYTHONDONTWRITEBYTECODE keeps these files out of the source folders, so
# they are written to a folder of the environment.
if sys.dont_write_bytecode:
    sys.dont_write_bytecode = False
    sys.pycache_prefix = os.path.join(sys.prefix, "bytecode")
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix

# By default, OpenMP's threads spin while they wait for each other. With one pytest process per
# core, they would spin on a core that another process needs. OpenMP reads this when it is loaded.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

# A background job of a shell ignores SIGINT, and so would the commands that the tests interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_finish():
    """Excludes the imported libraries (a million objects) from garbage collection."""
    exclude_all_objects()
    # Include them again at the very end: Python reports objects that it does not collect.
    atexit.register(gc.unfreeze)
    # Captures create many objects, few of them in cycles. The defaults are 700, 10 and 10.
    gc.set_threshold(20_000, 20, 20)


def _seed():
    if torch := sys.modules.get("torch"):
        torch.manual_seed(0)


@pytest.fixture(scope="module", autouse=True)
def _seeded_module():
    """Gives the fixtures of a module the same random numbers in each run."""
    _seed()


@pytest.fixture(autouse=True)
def _seeded_test():
    """Gives a test the same random numbers in each run, whichever tests ran before it."""
    _seed()


@pytest.fixture(scope="session")
def _latest_variables():
    return start_up_variables(os.environ)


@pytest.fixture(autouse=True)
def _unchanged_variables(_latest_variables):
    """Fails a test that permanently changes an environment variable that libraries read at start.

    A library may set such a variable when it is imported. Workers would then no longer be forks,
    and each of them would import the libraries again.
    """
    yield
    before = dict(_latest_variables)
    _latest_variables.clear()
    _latest_variables.update(start_up_variables(os.environ))
    assert _latest_variables == before


@pytest.fixture(autouse=True)
def _no_patch_left_behind(request):
    """Fails a test if one of our modules, imported during the test, keeps a patch of the test.

    The module has its own reference to the patched function, which `monkeypatch` does not restore.
    """
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if name.startswith(("unmess.", "importers.", "pipelines.")):
            for attribute, value in list(vars(sys.modules[name]).items()):
                owner = getattr(value, "__module__", None)
                assert owner != request.module.__name__, f"{name}.{attribute} is still patched"


@pytest.fixture(scope="session", autouse=True)
def _no_busy_thread():
    """Fails the last test if a thread still computes after all tests, because nothing stopped it.

    The thread slows all later tests, and would slow the programs of users.
    """
    yield
    before = _seconds_of_threads()
    time.sleep(0.5)
    after = _seconds_of_threads()
    busy = [thread for thread, used in after.items() if used - before.get(thread, used) > 0.1]
    assert not busy, f"threads still compute after the tests: {busy}"


def _seconds_of_threads() -> dict[int, float]:
    """Returns the CPU seconds of each thread of this process, by its id."""
    threads = psutil.Process().threads()
    return {thread.id: thread.user_time + thread.system_time for thread in threads}


@pytest.fixture
def small_files(monkeypatch):
    """A context manager that limits the size of files this process writes, like a full disk."""

    @contextlib.contextmanager
    def limited(size: int):
        # Python would truncate the bytecode files of modules imported meanwhile (gh-126606).
        monkeypatch.setattr(sys, "dont_write_bytecode", True)
        handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
            signal.signal(signal.SIGXFSZ, handler)

    return limited


@pytest.fixture(scope="session")
def skip_without():
    """Skips a test if an optional device is missing, or fails it if the device is required."""

    def skip(name: str, reason: str):
        if is_required(name):
            pytest.fail(f"{VARIABLE} requires {name}: {reason}", pytrace=False)
        pytest.skip(reason)

    return skip


@pytest.fixture(scope="session")
def torch_parent():
    """A parent of workers that has imported PyTorch and no other library."""
    parent = Parent(["torch"])
    # By default, the parent is a fork of this process if it has a single thread. Other tests may
    # have imported libraries here.
    parent._can_fork_here = lambda: False
    with parent:
        yield parent


@pytest.fixture(scope="session")
def unmess_command():
    """Runs `unmess ARGUMENTS` like `subprocess.run`, but does not import the libraries again."""
    return CommandLine(shared_parent(), command_line.unmess, "unmess")


@pytest.fixture(scope="session")
def python_command():
    """Runs `python FILE ARGUMENTS` like `subprocess.run`, without importing libraries again."""
    return CommandLine(shared_parent(), command_line.python, "python")
