"""The lit suite fails if a pipeline step is missing or moved."""

import pytest

from tools import mutations


@pytest.mark.parametrize("name", mutations.MUTATIONS)
def test_a_test_fails_without_the_step(name):
    test = mutations.MUTATIONS[name].test
    assert mutations.failing(name, test) == [test]
