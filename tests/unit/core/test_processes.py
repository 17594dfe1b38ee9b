"""The environment of child processes, and the texts for their exit statuses."""

import pytest

from unmess.core.processes import children


def test_a_child_has_the_module_path_of_its_parent(monkeypatch):
    monkeypatch.setattr(children.sys, "path", ["", "/a", "/b"])
    monkeypatch.setattr(children.os, "getcwd", lambda: "/here")
    assert children.environment()["PYTHONPATH"] == "/here:/a:/b"


@pytest.mark.parametrize(("status", "text"), [(-11, "SIGSEGV"), (-9, "SIGKILL"), (3, "status 3")])
def test_exit_statuses_as_text(status, text):
    assert children.ending(status) == text
