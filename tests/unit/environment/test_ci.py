"""CI uses pinned actions and skips no tests that need a Vulkan device or a browser."""

import re
import subprocess
from pathlib import Path

import pytest
import yaml

from tools import apt_packages, required

ROOT = Path(__file__).parents[3]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.y*ml"))
# owner/repository[/path]@commit # version
PINNED = re.compile(r"uses: [\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$")


def values_of(document, name):
    """Yields the values of a key at any depth of a document."""
    items = document.items() if isinstance(document, dict) else enumerate(document)
    for key, value in items:
        if key == name:
            yield value
        elif isinstance(value, (dict, list)):
            yield from values_of(value, name)


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.name)
def test_every_action_is_pinned_by_its_commit(file):
    text = file.read_text()
    actions = list(values_of(yaml.safe_load(text), "uses"))
    lines = [line.strip().removeprefix("- ") for line in text.splitlines() if "uses:" in line]
    assert actions and len(lines) == len(actions)
    for action, line in zip(actions, lines, strict=True):
        assert action in line and PINNED.fullmatch(line), line


def test_ci_runs_the_script_that_requires_the_devices():
    commands = list(values_of(yaml.safe_load((WORKFLOWS[0]).read_text()), "run"))
    assert ".ci/run" in commands
    script = (ROOT / ".ci" / "run").read_text()
    assert script.index(f'export {required.VARIABLE}="') < script.index("./pixiw run test")
    stated = re.search(r"UNMESS_REQUIRE-([\w ]+)\}", script)[1]
    assert tuple(stated.split()) == required.NAMES


@pytest.mark.parametrize("name", required.NAMES)
def test_a_missing_device_is_skipped_unless_it_is_required(name, monkeypatch, skip_without, capsys):
    monkeypatch.delenv(required.VARIABLE, raising=False)
    with pytest.raises(pytest.skip.Exception, match="not here"):
        skip_without(name, "not here")
    assert required.report_missing(name, "no apt") == 0
    assert "will be skipped: no apt" in capsys.readouterr().err
    monkeypatch.setenv(required.VARIABLE, " ".join(required.NAMES))
    with pytest.raises(pytest.fail.Exception, match=f"requires {name}: not here"):
        skip_without(name, "not here")
    assert required.report_missing(name, "no apt") == 1
    assert "UNMESS_REQUIRE requires one: no apt" in capsys.readouterr().err


def test_a_misspelled_device_is_an_error(monkeypatch):
    monkeypatch.setenv(required.VARIABLE, "vulcan")
    with pytest.raises(ValueError, match="unknown vulcan; known: vulkan, browser, docs"):
        required.is_required("vulkan")


@pytest.mark.parametrize(("user", "sudo"), [(0, True), (1000, True), (1000, False)])
def test_packages_are_installed_as_root(user, sudo, monkeypatch):
    commands = []

    def run(command, **_):
        commands.append(command)
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(apt_packages.os, "geteuid", lambda: user)
    monkeypatch.setattr(apt_packages.shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(apt_packages.subprocess, "run", run)
    reason = apt_packages.install(["a", "b"], sudo)
    if user and not sudo:
        assert reason == "not root; run: sudo apt-get install a b" and not commands
        return
    assert reason is None
    (command,) = commands
    assert (command[:2] == ["sudo", "--non-interactive"]) == (user != 0)
    assert command[-2:] == ["a", "b"] and "DEBIAN_FRONTEND=noninteractive" in command
