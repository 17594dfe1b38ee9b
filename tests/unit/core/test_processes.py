"""The environment of child processes, and the texts for their exit statuses."""

import pytest

from unmess.core import processes


def test_a_child_has_the_module_path_of_its_parent(monkeypatch):
    monkeypatch.setattr(processes.sys, "path", ["", "/a", "/b"])
    monkeypatch.setattr(processes.os, "getcwd", lambda: "/here")
    assert processes.environment()["PYTHONPATH"] == "/here:/a:/b"


@pytest.mark.parametrize(("status", "text"), [(-11, "SIGSEGV"), (-9, "SIGKILL"), (3, "status 3")])
def test_exit_statuses_as_text(status, text):
    assert processes.ending(status) == text
