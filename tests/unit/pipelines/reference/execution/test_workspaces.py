"""Workspaces serve one call at a time, and are freed with the programs that need them."""

import ctypes
from collections import Counter

import pytest

import unmess
from pipelines.reference.execution.workspaces import Workspaces

MB = 1 << 20


class Owner:
    pass


@pytest.fixture(autouse=True)
def no_other_programs(monkeypatch):
    monkeypatch.setattr(Workspaces, "_free", [])
    monkeypatch.setattr(Workspaces, "_needed", Counter())


def address(workspace):
    return workspace.descriptor[1]


@pytest.mark.parametrize("size", [1, 4096, 3 * MB, 3 * MB + 1])
def test_memory_can_be_written_to_its_end(size):
    workspace = Workspaces.take(size)
    assert workspace.size == size
    assert address(workspace) % 64 == 0
    ctypes.memset(address(workspace), 1, size)
    assert workspace._memory[:].count(1) == size


def test_the_next_call_takes_the_same_memory():
    first = Workspaces.take(MB)
    Workspaces.give_back(first)
    assert Workspaces.take(1000) is first


def test_calls_at_the_same_time_have_memory_of_their_own():
    first, second = Workspaces.take(MB), Workspaces.take(MB)
    assert first is not second
    assert abs(address(first) - address(second)) >= MB


def test_a_larger_program_replaces_the_memory():
    Workspaces.give_back(Workspaces.take(MB))
    Workspaces.give_back(Workspaces.take(3 * MB))
    assert [each.size for each in Workspaces._free] == [3 * MB]


def test_memory_is_freed_with_the_last_program_that_needs_it():
    small, large, same = Owner(), Owner(), Owner()
    Workspaces.reserve(small, MB)
    Workspaces.reserve(large, 3 * MB)
    Workspaces.reserve(same, 3 * MB)
    Workspaces.give_back(Workspaces.take(3 * MB))
    del large
    assert len(Workspaces._free) == 1
    del same
    assert Workspaces._free == []


def test_a_lack_of_memory_is_an_error():
    with pytest.raises(unmess.Error, match="cannot allocate 4,611,686,018,427,387,904 bytes"):
        Workspaces.take(1 << 62)
