"""The lit suite fails if a pipeline step is missing or moved."""

import pytest

from tools import mutations


@pytest.fixture(scope="module")
def failing():
    """Returns the failing tests by mutation. Runs only the test that should fail for each."""
    return mutations.failing({name: each.test for name, each in mutations.MUTATIONS.items()})


@pytest.mark.parametrize("name", mutations.MUTATIONS)
def test_a_test_fails_without_the_step(name, failing):
    assert failing[name] == [mutations.MUTATIONS[name].test]
