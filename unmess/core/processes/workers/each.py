"""Calls a function on many items, in as few workers as possible."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from unmess.core.processes.workers.inside import resolve
from unmess.core.processes.workers.parent import Parent


@dataclass(frozen=True)
class Died:
    """Replaces the result of an item whose worker crashed or took too long."""

    cause: str


def each_in_workers(
    parent: Parent, items: Sequence[Any], function: Callable[[Any], Any] | str, timeout: float
) -> Iterator[Any]:
    """Yields `function(item)` for each item, in order.

    A worker goes through the items. When it dies, its current item gets a `Died`, and another
    worker continues with the next item. Workers use the stdout and stderr of this process.

    Args:
        function: in a module that workers can import, or its name as `module:function`. Its results
            must be picklable. An exception counts as a crash.
        items: must be picklable.
        timeout: seconds for one item. The imports of the parent process do not count.
    """
    done = 0
    while done < len(items):
        with parent.start(_work_through, function, items[done:], stdout=1, stderr=2) as worker:
            worker.allow(timeout)
            for result in worker.messages():
                worker.allow(timeout)
                done += 1
                yield result
        if worker.death is not None:
            done += 1
            yield Died(worker.death)


def _work_through(
    send: Callable[[Any], None], function: Callable[[Any], Any] | str, items: Sequence[Any]
) -> None:
    function = resolve(function)
    for item in items:
        send(function(item))
