"""How processes are started, and what is said of how they ended."""

import pytest

from unmess.core import child


def test_a_child_looks_for_modules_where_its_parent_does(monkeypatch):
    monkeypatch.setattr(child.sys, "path", ["", "/a", "/b"])
    monkeypatch.setattr(child.os, "getcwd", lambda: "/here")
    assert child.environment()["PYTHONPATH"] == "/here:/a:/b"


@pytest.mark.parametrize(("status", "text"), [(-11, "SIGSEGV"), (-9, "SIGKILL"), (3, "status 3")])
def test_how_a_process_ended(status, text):
    assert child.ending(status) == text
