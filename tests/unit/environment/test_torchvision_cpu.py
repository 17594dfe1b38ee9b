"""torchvision and transformers import in every process of the environment."""

import subprocess
import sys

import pytest
import torch

from unmess.environment import torchvision_cpu

pytestmark = pytest.mark.skipif(
    bool(torch.version.cuda or torch.version.hip), reason="the hook is for torch's CPU build"
)


def run(*arguments: str, cwd=None) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, *arguments], cwd=cwd, capture_output=True, text=True, timeout=300
    )


CALL_NMS = """
import torch, torchvision
assert list(torchvision.models.resnet18().eval()(torch.rand(1, 3, 64, 64)).shape) == [1, 1000]
boxes = torch.tensor([[0.0, 0, 4, 4], [8, 8, 9, 9], [0, 0, 4, 5]])
print(torchvision.ops.nms(boxes, torch.tensor([0.5, 0.7, 0.6]), 0.5).tolist())
try:
    torchvision.ops.roi_pool(torch.rand(1, 1, 4, 4), torch.rand(1, 5), 1)
except RuntimeError as error:
    print(error)
"""


def test_an_isolated_process_elsewhere(tmp_path):
    done = run("-I", "-c", CALL_NMS, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    # Operators without a kernel raise an error and do not crash.
    assert done.stdout.startswith("[1, 2]\nCouldn't load custom C++ ops")


def test_without_the_hook_it_fails(run_with_torch):
    """If this test fails, the hook is no longer needed."""
    remove = "import sys; from unmess.environment.torchvision_cpu import HOOK\n"
    done = run_with_torch(remove + "sys.meta_path.remove(HOOK)\nimport torchvision")
    assert "operator torchvision::nms does not exist" in done.stderr


def test_a_spawned_process_and_transformers(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import multiprocessing\n"
        "def work():\n"
        "    from transformers import image_utils\n"
        "    from torchvision.transforms import v2\n"
        "    return v2.Resize.__name__\n"
        "if __name__ == '__main__':\n"
        "    with multiprocessing.get_context('spawn').Pool(1) as pool:\n"
        "        print(pool.apply(work))\n"
    )
    done = run(str(script), cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "Resize\n"), done.stderr


def test_the_start_of_python_imports_no_torch(tmp_path):
    """The hook is installed, and imports none of these modules."""
    code = """
import sys
assert any(type(f).__name__ == "ImportHook" for f in sys.meta_path)
loaded = [name for name in ("torch", "torchvision", "numpy", "tempfile") if name in sys.modules]
print(loaded)
"""
    done = run("-I", "-c", code, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "[]\n"), done.stderr


def test_schemas_of_others_are_left_alone(run_with_torch):
    """A script that already works around the fault continues to work."""
    code = """
import torch
library = torch.library.Library("torchvision", "DEF")
library.define("nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
import torchvision
"""
    done = run_with_torch(code)
    assert done.returncode == 0, done.stderr


def test_no_schemas_are_defined_if_the_extension_loads(tmp_path, monkeypatch):
    monkeypatch.setattr(torchvision_cpu, "_library", None)
    (tmp_path / "_C.so").write_bytes(b"")
    loaded = []
    monkeypatch.setattr(torch.ops, "load_library", loaded.append)
    assert not torchvision_cpu.define_schemas([str(tmp_path)])
    assert loaded == [tmp_path / "_C.so"]


def test_no_schemas_are_defined_on_a_torch_for_gpus(monkeypatch):
    monkeypatch.setattr(torchvision_cpu, "_library", None)
    monkeypatch.setattr(torch.version, "cuda", "13.0")
    assert not torchvision_cpu.define_schemas([])


def test_only_torchvision_is_found():
    assert torchvision_cpu.HOOK.find_spec("torchvision.ops") is None
    assert torchvision_cpu.HOOK.find_spec("torch") is None
    assert torchvision_cpu.HOOK.find_spec("torchvision", ["/nowhere"]) is None
    assert torchvision_cpu.HOOK.find_spec("torchvision").name == "torchvision"
