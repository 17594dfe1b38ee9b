"""Tests of the hints for operators without a lowering."""

from importers.decompositions import linear_algebra
from pipelines.unlowered import hint_for


def test_hint_for_linear_algebra():
    for operator in linear_algebra._LOOPS:
        assert "static sizes" in hint_for(["aten.relu", f"aten.{operator}"]), operator
    assert hint_for(["aten.linalg_eig"]) is None
