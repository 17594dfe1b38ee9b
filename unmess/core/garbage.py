"""Python's garbage collection during work that creates many objects."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator

# Whether objects are excluded from collections for good. `gc.get_freeze_count` visits all of them,
# which takes up to 0.1 s, so it is called until it finds some.
_are_excluded = False
# Whether `older_objects_skipped` excludes objects at the moment.
_is_skipping = False


def exclude_all_objects() -> None:
    """Collects garbage, and excludes the other objects from later collections in this process.

    Processes that are forked from this one exclude them, too.
    """
    global _are_excluded
    gc.collect()
    gc.freeze()
    _are_excluded = True


@contextlib.contextmanager
def older_objects_skipped() -> Iterator[None]:
    """Makes garbage collection skip, inside the `with` block, the objects that exist before it.

    PyTorch and the libraries beside it have about a million objects, and a collection that visits
    all of them takes 0.2 s. Python starts several during one capture.
    """
    global _are_excluded, _is_skipping
    if not (_are_excluded or _is_skipping):
        # Objects that someone else excludes must stay excluded, and `unfreeze` includes all.
        _are_excluded = gc.get_freeze_count() > 0
    if _are_excluded or _is_skipping:
        yield
        return
    gc.freeze()
    _is_skipping = True
    try:
        yield
    finally:
        _is_skipping = False
        gc.unfreeze()
