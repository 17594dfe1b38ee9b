"""Everything that a model is built from becomes a dependency, or the model is not cached."""

import importlib.util
import os
import sys
import time

import pytest

from unmess.program_cache.dependencies import first_change, hidden
from unmess.program_cache.watch import Watch

CHANGING = {
    "clock": "import time\nx = time.time()",
    "clock by name": "from time import perf_counter\nx = perf_counter()",
    "date": "import datetime\nx = datetime.datetime.now()",
    "system's random numbers": "import os\nx = os.urandom(4)",
    "unique name": "import uuid\nx = uuid.uuid4()",
    "Python's random numbers": "import random\nx = random.randint(0, 9)",
    "unseeded generator": "import random\nx = random.Random()",
    "NumPy's random numbers": "import numpy\nx = numpy.random.rand()",
    "unseeded NumPy generator": "import numpy\nx = numpy.random.default_rng()",
    "PyTorch's seed": "import torch\nx = torch.Generator().seed()",
    "a file": "x = open(FILE).read()",
    "a file's existence": "import os\nx = os.path.exists(FILE)",
    "a path": "import pathlib\nx = pathlib.Path(FILE).is_file()",
    "weights": "import torch\nx = torch.load(WEIGHTS)",
    "safetensors": "import safetensors as s\nwith s.safe_open(TENSORS, 'pt') as f: f.keys()",
    "a folder": "import os\nx = os.listdir(FOLDER)",
    "a glob": "import glob\nx = glob.glob(FOLDER + '/*.txt')",
    "writing": "open(FOLDER + '/out.txt', 'w').close()",
    "another process": "import subprocess\nsubprocess.run(['true'])",
    "a thread": "import threading\nthreading.Thread(target=print).start()",
    "the command line": "import sys\nx = len(sys.argv)",
    "all variables": "import os\nx = dict(os.environ)",
    "the current directory": "import os\nx = os.getcwd()",
}
PLAIN = {
    "arithmetic": "x = sum(range(9))",
    "library": "import torch\nx = torch.nn.Linear(2, 2)",
    "seeded generator": "import random\nx = random.Random(3).random()",
    "seeded NumPy generator": "import numpy\nx = numpy.random.default_rng(3).random()",
    "source lines": "import inspect\ndef f(): pass\nx = inspect.getsource(f)",
    "seeding": "import torch\ntorch.manual_seed(3)",
}


@pytest.fixture
def execute(tmp_path, monkeypatch):
    torch = pytest.importorskip("torch")
    from safetensors.torch import save_file

    (tmp_path / "data.txt").write_text("4")
    torch.save({}, tmp_path / "weights.pt")
    save_file({"x": torch.zeros(1)}, tmp_path / "x.safetensors")
    before = set(sys.modules)
    monkeypatch.syspath_prepend(tmp_path)

    def run(code):
        constants = (
            f"FOLDER = {str(tmp_path)!r}\nFILE = FOLDER + '/data.txt'\n"
            "WEIGHTS = FOLDER + '/weights.pt'\nTENSORS = FOLDER + '/x.safetensors'\n"
        )
        path = tmp_path / "watched_model.py"
        path.write_text(constants + code)
        with Watch() as watch, watch.calls_of_users():
            spec = importlib.util.spec_from_file_location("watched_model", path)
            module = importlib.util.module_from_spec(spec)
            sys.modules["watched_model"] = module
            spec.loader.exec_module(module)
        return watch

    yield run
    for name in set(sys.modules) - before:
        if name.startswith("watched"):
            del sys.modules[name]


@pytest.mark.parametrize("code", CHANGING.values(), ids=CHANGING)
def test_changing_inputs_have_no_dependencies(execute, code):
    watch = execute(code)
    assert watch.dependencies() is None
    assert watch.reason


@pytest.mark.parametrize("code", PLAIN.values(), ids=PLAIN)
def test_fixed_inputs_have_dependencies(execute, tmp_path, code):
    watch = execute(code)
    known = watch.dependencies()
    assert known is not None, watch.reason
    assert known["files"][str(tmp_path / "watched_model.py")] is not None
    assert first_change(known) is None


def test_modules_beside_the_file_are_dependencies(execute, tmp_path):
    (tmp_path / "watched_layers.py").write_text("width = 4\n")
    known = execute("import watched_layers").dependencies()
    (tmp_path / "watched_layers.py").write_text("width = 5\n")
    assert first_change(known) == str(tmp_path / "watched_layers.py")


def test_missing_module_is_a_dependency(execute, tmp_path):
    code = "try:\n    import watched_fast\nexcept ImportError:\n    watched_fast = None"
    known = execute(code).dependencies()
    assert first_change(known) is None
    (tmp_path / "watched_fast.py").write_text("")
    assert first_change(known) == "the location of the module watched_fast"


def test_variables_are_dependencies(execute, monkeypatch):
    monkeypatch.setenv("WATCHED_DEPTH", "3")
    known = execute("import os\nx = os.environ.get('WATCHED_DEPTH'), os.getenv('WATCHED_MORE')")
    assert known.dependencies()["variables"] == {
        "WATCHED_DEPTH": hidden("3"),
        "WATCHED_MORE": None,
    }


def test_files_that_libraries_read_are_dependencies(tmp_path):
    import json

    path = tmp_path / "config.json"
    path.write_text("{}")
    before = time.time_ns()
    os.utime(path, ns=(before, before))
    with Watch() as watch:
        json.loads(path.read_text())
    known = watch.dependencies()
    path.write_text('{"depth": 3}')
    assert first_change(known) in (str(path), str(tmp_path))


def test_file_that_changes_during_the_watch(tmp_path):
    path = tmp_path / "config.json"
    path.write_text("{}")
    with Watch() as watch:
        path.read_text()
        path.write_text('{"depth": 3}')
        later = time.time_ns() + 10**9
        os.utime(path, ns=(later, later))
    assert watch.dependencies() is None
    assert "changed during the capture" in watch.reason


def test_watch_restores_what_it_patches():
    before = os.stat, os.access, type(os.environ), sys.getprofile()
    with pytest.raises(ZeroDivisionError), Watch() as watch, watch.calls_of_users():
        assert os.stat is not before[0]
        1 / 0  # noqa: B018
    assert (os.stat, os.access, type(os.environ), sys.getprofile()) == before
