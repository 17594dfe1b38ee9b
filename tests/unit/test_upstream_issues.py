"""Each workaround and known limit has an issue of another project, or a reason for having none."""

import re
from pathlib import Path

import pytest

from importers.recipes.limits import known_limits
from importers.repair_list import recorded_repairs
from pipelines.pipeline import Pipeline
from pipelines.reference.pipeline import PIPELINE
from pipelines.registry import FUNCTIONS, PIPELINES
from unmess.conformance.operators.case import LIMITS
from unmess.upstream_issues import no_defects, upstream_issues

ROOT = Path(__file__).parents[2]
ISSUES = upstream_issues()
EXPLAINED = {name for issue in ISSUES.values() for name in issue.affects} | no_defects().keys()
LINK = re.compile(r"https://github\.com/[\w-]+/[\w-]+/issues/\d+")


def test_each_repair_and_decomposition_is_explained():
    assert {each.name for each in recorded_repairs()} - EXPLAINED == set()


def test_each_known_limit_is_explained():
    assert {*known_limits(), *LIMITS} - EXPLAINED == set()


def test_each_step_that_blames_another_project_is_explained():
    parts = [*PIPELINES.values(), *PIPELINE]
    steps = [
        step for part in parts for step in (part.steps if isinstance(part, Pipeline) else [part])
    ]
    blaming = {
        step.name
        for step in steps
        if step.function is not None and re.search("torch-mlir|IREE|LLVM|upstream", step.why)
    }
    assert blaming - EXPLAINED == set()


def test_explained_names_exist():
    names = {each.name for each in recorded_repairs()} | FUNCTIONS.keys()
    assert EXPLAINED - names - {*known_limits(), *LIMITS} == set()


def test_links_of_limits_are_those_of_their_issues():
    for name, limits in {**known_limits(), **LIMITS}.items():
        issue = next((each for each in ISSUES.values() if name in each.affects), None)
        for limit in limits:
            assert limit.link in (None, issue and issue.link), name


def test_the_text_of_missing_operators_lists_them():
    assert "`aten::histc.default`, `aten::sort.stable`" in ISSUES["missing-operators"].text()


@pytest.mark.parametrize("issue", ISSUES.values(), ids=lambda issue: issue.name)
def test_an_issue_has_a_text_and_a_test(issue):
    assert issue.link is None or LINK.fullmatch(issue.link)
    assert issue.link is None or issue.link.startswith(f"https://github.com/{issue.project}/")
    text = issue.text()
    assert issue.title in text and issue.observed in text and "torch-mlir |" in text
    if issue.programs:
        (script,) = re.findall("```python\n(.*?)```", text, re.DOTALL)
        compile(script, issue.name, "exec")
    else:
        file, function = issue.test.split("::")
        assert f"def {function}(" in (ROOT / file).read_text()
