"""The lit suite notices a step of a pipeline that is missing or at another place."""

import pytest

from tools import mutations


@pytest.mark.parametrize("name", mutations.MUTATIONS)
def test_a_test_fails_without_the_step(name):
    test = mutations.MUTATIONS[name].test
    assert mutations.failing(name, test) == [test]
