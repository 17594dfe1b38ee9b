"""Keeps the tests of a group in one process, which computes the outcomes of all its cases once.

`pytest --dist loadgroup` groups tests by the part of their ID after `@`. pytest-xdist 3.8 assigns
this part to an attribute that pytest 9.2 does not read (pytest-dev/pytest-xdist#1386).
"""

import pytest
from _pytest.nodeid import NodeId


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    """Adds the group to the ID of each test, in the processes of `--dist loadgroup`."""
    if not config.getoption("loadgroup", False):
        return
    for item in items:
        for mark in item.iter_markers("xdist_group"):
            item._id = NodeId.parse(f"{item.nodeid}@{mark.args[0]}")
