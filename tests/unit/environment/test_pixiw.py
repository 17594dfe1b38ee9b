"""Functions of `pixiw`, imported as a module, and the script that activates pixi's environment."""

import ast
import errno
import importlib.machinery
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest
from pixiw_project import ROOT


@pytest.fixture(scope="module")
def pixiw():
    """Imports `pixiw` as a module."""
    loader = importlib.machinery.SourceFileLoader("pixiw", str(ROOT / "pixiw"))
    spec = importlib.util.spec_from_loader("pixiw", loader)
    module = importlib.util.module_from_spec(spec)
    sys.dont_write_bytecode, before = True, sys.dont_write_bytecode
    try:
        loader.exec_module(module)
    finally:
        sys.dont_write_bytecode = before
    return module


def test_an_environment_without_its_python_is_not_finished(pixiw, tmp_path):
    (tmp_path / ".venv/bin").mkdir(parents=True)
    (tmp_path / ".venv/pixiw.stamp").write_text("stamp")
    python = tmp_path / ".venv/bin/python"
    python.symlink_to(sys.executable)
    assert pixiw.finished(str(tmp_path), "stamp", "default")
    assert not pixiw.finished(str(tmp_path), "another stamp", "default")
    python.unlink()
    python.symlink_to("/usr/local/python3.11.0")
    assert not pixiw.finished(str(tmp_path), "stamp", "default")


def test_files_and_logs_follow_no_links(pixiw, tmp_path, monkeypatch):
    shared, folder, victim = tmp_path / "shared", tmp_path / "folder", tmp_path / "victim"
    for each in (shared, folder):
        each.mkdir()
    victim.write_text("mine")
    # Another user can create a link for each name that is predictable.
    for name in ("pixiw.log", f"pixiw-{os.getpid()}.log"):
        (shared / name).symlink_to(victim)
        (shared / f"{name}.new").symlink_to(victim)
    monkeypatch.setattr("tempfile.tempdir", str(shared))
    pip = pixiw.Pip([], None)
    assert pip.keep("one", str(shared)) == str(shared / "pixiw.log")
    assert not (shared / "pixiw.log").is_symlink()
    logs = [Path(pip.keep(text, str(folder / "missing"))) for text in ("two", "three")]
    assert [log.read_text() for log in logs] == ["two", "three"]
    assert all(log.parent == shared and log.stat().st_mode & 0o077 == 0 for log in logs)
    assert not any(str(os.getpid()) in log.name for log in logs)
    assert victim.read_text() == "mine" and victim.stat().st_nlink == 1


def test_a_full_disk_leaves_the_earlier_file(pixiw, tmp_path, small_files):
    path = tmp_path / "file"
    pixiw.write_text(str(path), "earlier")
    with small_files(1 << 12), pytest.raises(OSError, match="File too large"):
        pixiw.write_text(str(path), "later" * 10_000)
    assert [(each.name, each.read_text()) for each in tmp_path.iterdir()] == [("file", "earlier")]


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("ERROR: Could not install: [Errno 28] No space left on device\n", "the disk is full"),
        ("OSError: [Errno 122] Disk quota exceeded: '/x'\n", "the disk is full"),
        ("[Errno 30] Read-only file system: '/x'\n", "no permission to write"),
        ("[Errno 13] Permission denied: '/x/y'\n", "no permission to write"),
        ("WARNING: Retrying after connection broken by 'X'\nERROR: x\n", "cannot reach"),
        ("ERROR: No matching distribution found for a==1\n", "do not have a==1"),
        ("Errno 28 after connection broken by X: No space left on device", "the disk is full"),
    ],
)
def test_pip_errors_are_explained(pixiw, text, cause):
    failure = pixiw.explain_output(text, "/the/log")
    assert cause in failure.line and "/the/log" in failure.line


def test_unknown_pip_errors_are_quoted(pixiw):
    assert pixiw.explain_output("ERROR: something new\n", "/the/log") is None
    assert pixiw.last_error(["ERROR: something new\n", "more\n"]) == "ERROR: something new"


@pytest.mark.parametrize(
    ("code", "cause"),
    [
        (errno.ENOSPC, "the disk is full"),
        (errno.EROFS, "/x cannot be written"),
        (errno.EACCES, "/x cannot be written"),
        (errno.EIO, "Input/output error: /x"),
    ],
)
def test_system_errors_are_explained(pixiw, code, cause):
    assert cause in pixiw.explain_os_error("/", OSError(code, os.strerror(code), "/x")).line


def test_older_pythons_can_read_the_file():
    ast.parse((ROOT / "pixiw").read_text(), feature_version=(3, 7))


@pytest.mark.parametrize(
    ("tasks", "cause"),
    [
        ({"a": {"depends-on": ["b"]}, "b": {"depends-on": ["a"]}}, "depends on itself"),
        ({"a": {"depends-on": ["b"]}}, "depends on b, which is not a task"),
    ],
)
def test_invalid_task_dependencies_are_refused(pixiw, tasks, cause):
    with pytest.raises(pixiw.Failure, match=cause):
        pixiw.order(tasks, "a", [], [])


def test_activation_links_where_it_is_needed(tmp_path):
    # activate.sh calls `pixiw link`. This fake pixiw only prints that it was called.
    prefix = tmp_path / "prefix"
    site_packages = prefix / "lib/python3.11/site-packages"
    site_packages.mkdir(parents=True)
    (prefix / "bin").mkdir()
    (prefix / "bin/python").symlink_to(sys.executable)
    root = tmp_path / "root"
    root.mkdir()
    (root / "pixiw").write_text("print('linked')")
    environment = {"CONDA_PREFIX": str(prefix), "PIXI_PROJECT_ROOT": str(root)}

    def activate() -> str:
        command = ["/bin/sh", "-eu", str(ROOT / "tools/activate.sh")]
        return subprocess.run(command, env=environment, capture_output=True, text=True).stdout

    pth = site_packages / "unmess.pth"
    assert activate() == "linked\n"
    pth.write_text("/another/root\nimport sys\n")
    assert activate() == "linked\n"
    pth.write_text(f"{root}\nimport sys\n")
    assert activate() == ""
    os.utime(pth, (1, 1))
    assert activate() == "linked\n"


def test_link(pixiw, tmp_path):
    prefix = tmp_path / "the prefix"
    site_packages = prefix / "lib/python3.11/site-packages"
    tool = site_packages / "mlir/bin/mlir-opt"
    tool.parent.mkdir(parents=True)
    tool.write_text("")
    (prefix / "bin").mkdir()
    pixiw.link("/the root", str(prefix))
    pixiw.link("/the root", str(prefix))
    assert (site_packages / "unmess.pth").read_text().splitlines()[0] == "/the root"
    assert (prefix / "bin/mlir-opt").resolve() == tool
    assert not (prefix / "bin/FileCheck").is_symlink()
    assert os.access(prefix / "bin/unmess", os.X_OK)
