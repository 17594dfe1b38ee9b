"""Tests the page with the table of operators."""

from pathlib import Path

from importers.recipes.limits import Limit
from tools import operator_table as tool

ROOT = Path(__file__).parents[3]


def test_the_page_is_up_to_date():
    """`./pixiw run operator-table` writes the page."""
    assert tool.PAGE.read_text() == tool.page(tool.CASES, tool.known_limits(tool.LIMITS_FILE))


def test_limit_counts_only_for_its_runner():
    cases = [case for case in tool.CASES if case.operator == "torch.abs"]
    limits = {str(cases[0]): (Limit("compare", "a | b", "iree-cpu"),)}
    text = tool.page(cases, limits)
    assert f"| Unary | {len(cases)} | {len(cases)} | {len(cases) - 1} |" in text
    assert "compare on iree-cpu: a \\| b" in text


def test_failures_that_runners_share_are_one_limit():
    from unmess.conformance.operators.outcomes import Failure

    stops = Failure("torch", "no lowering (pass canonicalize)")
    assert tool.limits_of({"reference": stops, "iree-cpu": stops}) == [
        Limit("torch", "no lowering")
    ]
    assert tool.limits_of({"reference": None, "iree-cpu": stops}) == [
        Limit("torch", "no lowering", "iree-cpu")
    ]
    assert tool.limits_of({"reference": None, "iree-cpu": None}) == []
