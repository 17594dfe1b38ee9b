"""Failures match known limits of operators and models."""

from unmess.row import Row
from unmess.triage import known_limits
from unmess.triage.failure import Failure

LIMITS = """
hf:one:
- stage: torch
  cause: no lowering for aten.eig (pass a)
hf:two:
- stage: torch
  cause: no lowering for aten.eig (pass b)
  link: https://example.org/1
hf:three:
- stage: compile
  cause: no lowering for aten.eig
  runner: iree-cpu
"""


def test_the_best_match_comes_first(monkeypatch, tmp_path):
    (tmp_path / "limits.yaml").write_text(LIMITS)
    (tmp_path / "none.yaml").write_text("{}")
    monkeypatch.setattr(known_limits, "FILE", tmp_path / "limits.yaml")
    monkeypatch.setattr(known_limits, "_OPERATORS", tmp_path / "none.yaml")

    def match(stage, runner="reference", model="net.py", cause="no lowering for aten.eig"):
        row = Row(model, runner, ok=False, stage=stage, error=cause)
        found = known_limits.matching_limit(Failure.of(row), runner, model)
        return found and found.of

    assert match("torch") == "hf:two"
    assert match("torch", model="hf:one") == "hf:one"
    assert match("compile", "iree-cpu") == "hf:three"
    assert match("compile", "reference") is None
    assert match("linalg") is None
    assert match("torch", cause="no lowering for aten.svd") is None
    # The message of a wrong result does not identify it.
    assert match("compare", cause="no lowering for aten.eig") is None
