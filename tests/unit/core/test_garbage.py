"""Garbage collection that skips objects which existed before."""

import gc
import weakref

import pytest

from unmess.core import garbage as tested
from unmess.core.garbage import exclude_all_objects, older_objects_skipped


class Cycle:
    def __init__(self):
        self.itself = self


def garbage():
    """Returns a weak reference to an object that only the garbage collector frees."""
    return weakref.ref(Cycle())


@pytest.fixture
def nothing_frozen(monkeypatch):
    monkeypatch.setattr(tested, "_are_excluded", False)
    gc.unfreeze()
    gc.collect()
    yield
    # As at the start of the tests.
    gc.freeze()


@pytest.mark.usefixtures("nothing_frozen")
def test_only_newer_objects_are_collected():
    older = garbage()
    with older_objects_skipped():
        newer = garbage()
        gc.collect()
        assert (older() is None, newer() is None) == (False, True)
    gc.collect()
    assert older() is None


@pytest.mark.usefixtures("nothing_frozen")
def test_all_objects_are_included_after_a_failure():
    with pytest.raises(ValueError, match="no model"), older_objects_skipped():
        raise ValueError("no model")
    assert gc.get_freeze_count() == 0


@pytest.mark.usefixtures("nothing_frozen")
def test_objects_that_others_excluded_stay_excluded():
    excluded = garbage()
    gc.freeze()
    included = garbage()
    with older_objects_skipped(), older_objects_skipped():
        gc.collect()
        assert (excluded() is None, included() is None) == (False, True)
    gc.collect()
    assert excluded() is not None


@pytest.mark.usefixtures("nothing_frozen")
def test_all_objects_are_excluded_for_good():
    excluded = Cycle()
    reference = weakref.ref(excluded)
    exclude_all_objects()
    del excluded
    with older_objects_skipped():
        gc.collect()
    gc.collect()
    assert reference() is not None


def test_excluded_objects_are_not_counted_again(monkeypatch):
    """Counting visits all of them, which takes longer than the capture of a small model."""
    exclude_all_objects()
    monkeypatch.setattr(gc, "get_freeze_count", None)
    with older_objects_skipped(), older_objects_skipped():
        pass


@pytest.mark.usefixtures("nothing_frozen")
def test_objects_that_others_excluded_are_counted_once(monkeypatch):
    gc.freeze()
    with older_objects_skipped():
        pass
    monkeypatch.setattr(gc, "get_freeze_count", None)
    with older_objects_skipped():
        pass
