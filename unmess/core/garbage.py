"""Python's garbage collection during work that creates many objects."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def older_objects_skipped() -> Iterator[None]:
    """Makes garbage collection skip, inside the `with` block, the objects that exist before it.

    PyTorch and the libraries beside it have about a million objects, and a collection that visits
    all of them takes 0.2 s. Python starts several during one capture.
    """
    # Objects that someone else excludes must stay excluded, and `unfreeze` includes all.
    if gc.get_freeze_count():
        yield
        return
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
