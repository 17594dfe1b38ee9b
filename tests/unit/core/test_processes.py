"""How processes are started, and what is said of how they ended."""

import pytest

from unmess.core import processes


def test_a_child_looks_for_modules_where_its_parent_does(monkeypatch):
    monkeypatch.setattr(processes.sys, "path", ["", "/a", "/b"])
    monkeypatch.setattr(processes.os, "getcwd", lambda: "/here")
    assert processes.environment()["PYTHONPATH"] == "/here:/a:/b"


@pytest.mark.parametrize(("status", "text"), [(-11, "SIGSEGV"), (-9, "SIGKILL"), (3, "status 3")])
def test_how_a_process_ended(status, text):
    assert processes.ending(status) == text
