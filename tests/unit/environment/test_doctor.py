"""The findings of `unmess doctor` in a working environment and in broken ones."""

import json
import os
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from unmess.environment import doctor, locked


@pytest.fixture(scope="module")
def findings(tmp_path_factory):
    before = os.environ.get("UNMESS_CACHE")
    os.environ["UNMESS_CACHE"] = str(tmp_path_factory.mktemp("cache"))
    try:
        return list(doctor.examine())
    finally:
        os.environ.pop("UNMESS_CACHE")
        if before is not None:
            os.environ["UNMESS_CACHE"] = before


def one(findings, name):
    (finding,) = [finding for finding in findings if finding.name == name]
    return finding


def test_this_environment_is_in_order(findings):
    assert [finding for finding in findings if not finding.ok] == []
    names = {finding.name for finding in findings}
    assert names >= {*locked.read_requirements(requirements()).wheels, *doctor.TOOLS}
    assert names >= {"Python", "lock", "processor", "memory", "cache", "local-task", "vulkan"}


def requirements() -> str:
    return (locked.ROOT / "requirements.lock").read_text()


def test_findings_are_plain_data_in_groups(findings):
    data = json.loads(json.dumps(doctor.as_json(findings)))
    assert data[0].keys() == {"group", "name", "ok", "detail", "remedy"}
    assert len(data) == len(findings)
    groups = [entry["group"] for entry in data]
    assert sorted(set(groups), key=groups.index) == [
        group for i, group in enumerate(groups) if i == 0 or groups[i - 1] != group
    ]


def test_every_line_has_a_detail_and_every_fault_a_remedy(findings):
    assert all(finding.detail and "\n" not in finding.detail for finding in findings)
    assert not any(finding.remedy for finding in findings)


def test_missing_and_wrong_packages_are_found(monkeypatch):
    installed = locked.installed_wheels()
    del installed["lit"]
    installed["rich"] = locked.Wheel("rich", "0.1", "")
    monkeypatch.setattr(locked, "installed_wheels", lambda: installed)
    findings = list(doctor._packages())
    assert {finding.name for finding in findings if not finding.ok} == {"lit", "rich"}
    assert "not installed; the lock has" in one(findings, "lit").detail
    assert one(findings, "rich").detail.startswith("0.1; the lock has ")
    assert one(findings, "rich").remedy


def test_a_changed_lock(monkeypatch, tmp_path):
    for name in ("pixi.toml", "pixi.lock", "requirements.lock"):
        (tmp_path / name).write_text((locked.ROOT / name).read_text())
    (tmp_path / "pixi.lock").write_text("version: 5\n")
    monkeypatch.setattr(locked, "ROOT", tmp_path)
    lock = next(doctor._packages())
    assert not lock.ok and "pixi.lock" in lock.detail and lock.remedy
    (tmp_path / "pixi.lock").unlink()
    (lock,) = doctor._packages()
    assert not lock.ok and "No such file" in lock.detail and lock.remedy


def test_a_python_of_another_version(monkeypatch):
    monkeypatch.setattr(sys, "version_info", (3, 12, 0))
    (finding,) = doctor._python()
    assert not finding.ok and "3.11" in finding.remedy


def test_an_import_that_fails_or_crashes():
    python = [sys.executable, "-c"]
    assert doctor._start([*python, "pass"]) == ""
    assert "ImportError: no such luck" in doctor._start(
        [*python, "raise ImportError('no such luck')"]
    )
    crash = doctor._start([*python, "import os; os.abort()"])
    finding = doctor._import_finding("torch", crash)
    assert not finding.ok and finding.detail and finding.remedy
    assert "No such file" in doctor._start(["/nowhere/tool"])


def test_a_tool_that_is_missing_or_does_not_start(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    finding = doctor._tool_finding("lit", doctor._start_tool("lit"))
    assert (finding.ok, finding.detail) == (False, "not found")
    assert "install lit, which has it" in finding.remedy
    tool = tmp_path / "lit"
    tool.write_text("#!/bin/sh\necho 'libLLVM.so: cannot open' >&2\nexit 127\n")
    tool.chmod(0o755)
    finding = doctor._tool_finding("lit", doctor._start_tool("lit"))
    assert not finding.ok and "libLLVM.so: cannot open" in finding.detail


def test_the_environments_own_tool_comes_first(monkeypatch, tmp_path):
    other = tmp_path / "lit"
    other.write_text("#!/bin/sh\n")
    other.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert doctor.find_tool("lit") == str(Path(sys.prefix, "bin", "lit"))


def test_drivers(findings):
    drivers = [finding for finding in findings if finding.group == "iree"]
    assert {finding.name for finding in drivers} >= {"local-sync", "local-task"}
    lost = list(doctor._iree([("", [], "ImportError: gone")]))
    assert [finding.ok for finding in lost] == [False, False]
    assert "ImportError: gone" in lost[0].detail
    crashed = doctor._iree([("local-task", [], "ended with status -11"), ("cuda", [], "x; no GPU")])
    by_name = {finding.name: finding for finding in crashed}
    assert not by_name["local-task"].ok and "-11" in by_name["local-task"].detail
    # Missing hardware is not a fault of the environment.
    assert by_name["cuda"].ok and by_name["cuda"].detail == "not available: no GPU"


def test_a_driver_that_crashes_is_one_line():
    assert doctor._ask("import os; os.abort()") == ([], "ended with status -6")
    assert doctor._ask("print('[]')\nraise RuntimeError('broken')")[1] == "RuntimeError: broken"
    assert doctor._ask("print('no JSON')")[1]
    assert doctor._ask("import json; print(json.dumps(['a']))") == (["a"], "")


def test_a_cache_that_cannot_be_written(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("UNMESS_CACHE", str(tmp_path / "file" / "cache"))
    cache = one(list(doctor._storage()), "cache")
    assert not cache.ok and "UNMESS_CACHE" in cache.remedy
    monkeypatch.setattr(doctor.tempfile, "TemporaryFile", raise_permission_error)
    monkeypatch.setenv("UNMESS_CACHE", str(tmp_path))
    cache = one(list(doctor._storage()), "cache")
    assert not cache.ok and "Permission denied" in cache.detail


def raise_permission_error(**_):
    raise PermissionError(13, "Permission denied")


def test_the_cache_is_measured_but_not_created(monkeypatch, tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "file").write_bytes(bytes(5_000_000))
    (tmp_path / "link").symlink_to(tmp_path / "sub" / "file")
    monkeypatch.setenv("UNMESS_CACHE", str(tmp_path))
    assert one(list(doctor._storage()), "cache").detail == f"{tmp_path}, 5 MB"
    monkeypatch.setenv("UNMESS_CACHE", str(tmp_path / "not" / "yet"))
    assert one(list(doctor._storage()), "cache").ok
    assert not (tmp_path / "not").exists()


def test_little_disk_and_memory(monkeypatch):
    monkeypatch.setattr(doctor.shutil, "disk_usage", lambda path: SimpleNamespace(free=1))
    memory = SimpleNamespace(total=1 << 30, available=1 << 29)
    monkeypatch.setattr(doctor.psutil, "virtual_memory", lambda: memory)
    findings = [*doctor._storage(), *doctor._processor()]
    off = {finding.name for finding in findings if not finding.ok}
    assert off == {"disk of the cache", "disk of the checkout", "memory"}
    assert all(finding.remedy for finding in findings if not finding.ok)


def test_another_processor(monkeypatch):
    monkeypatch.setattr(doctor.platform, "machine", lambda: "aarch64")
    monkeypatch.setattr(doctor, "_cpuinfo", lambda: ("", set()))
    processor = next(doctor._processor())
    assert not processor.ok and "x86-64" in processor.remedy
    assert processor.detail.startswith("aarch64")
