"""Tests what workers inherit from a parent that has rehearsed a check."""

from unmess.core.processes.workers import each_in_workers
from unmess.isolated import shared_parent

MODULE = """
import sys

from unmess.isolated import rehearsal

def state(_):
    rehearsed = [
        function.cache_info().currsize
        for function in (rehearsal._captured, rehearsal.lower, rehearsal.compile_on_reference)
    ]
    return rehearsed, "torch_mlir.dialects.linalg" in sys.modules
"""


def test_workers_have_rehearsed(tmp_path, monkeypatch):
    (tmp_path / "workers_state.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))
    (found,) = each_in_workers(shared_parent(), [None], "workers_state:state", 60.0)
    assert found == ([1, 1, 1], True)
