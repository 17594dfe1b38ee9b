"""Work in forked processes: crashes, hangs and exceptions cost one item each."""

import os
import signal
import time

from unmess.probe.children import Died, each_in_children


def work(item):
    if item == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    if item == "hang":
        time.sleep(60)
    if item == "raise":
        raise ValueError("no")
    return item, os.getpid()


def test_each_item_gets_its_result_in_order():
    items = [1, "crash", 2, "raise", 3, "hang", 4, "crash"]
    results = list(each_in_children(items, work, timeout=1.0))
    causes = [result.cause for result in results if isinstance(result, Died)]
    assert causes == [
        "crashed with SIGSEGV",
        "failed",
        "took longer than 1 s",
        "crashed with SIGSEGV",
    ]
    assert [result[0] for result in results if not isinstance(result, Died)] == [1, 2, 3, 4]


def test_one_child_does_all_the_work_where_nothing_fails():
    results = list(each_in_children(range(5), work, timeout=5.0))
    assert len({pid for _, pid in results}) == 1
    assert os.getpid() not in {pid for _, pid in results}


def test_a_caller_that_stops_early_leaves_no_process():
    results = each_in_children([1, "hang"], work, timeout=5.0)
    _, pid = next(results)
    results.close()
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return
    raise AssertionError("the child is still there")
