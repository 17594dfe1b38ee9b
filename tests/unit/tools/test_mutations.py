"""The lit suite notices a step of a pipeline that is missing or at another place."""

import importlib.util
import sys
from pathlib import Path

import pytest

PATH = Path(__file__).parents[3] / "tools" / "mutations.py"
SPEC = importlib.util.spec_from_file_location("mutations", PATH)
mutations = importlib.util.module_from_spec(SPEC)
# Where dataclasses look their module up.
sys.modules[SPEC.name] = mutations
SPEC.loader.exec_module(mutations)


@pytest.mark.parametrize("name", mutations.MUTATIONS)
def test_a_test_fails_without_the_step(name):
    test = mutations.MUTATIONS[name].test
    assert mutations.failing(name, test) == [test]
