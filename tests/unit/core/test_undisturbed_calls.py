import os
import threading
import time

import pytest

from unmess.core.processes import undisturbed_calls
from unmess.core.processes.undisturbed_calls import UndisturbedCalls

if not hasattr(os, "SCHED_BATCH"):
    pytest.skip("no scheduling policies here", allow_module_level=True)


def policies(policy=os.SCHED_OTHER):
    """Returns a thread's policies during a first, a second and a third call, and at its end."""
    seen = []

    def work():
        os.sched_setscheduler(0, policy, os.sched_param(0))
        undisturbed = UndisturbedCalls()
        for seconds in (0, 0.2, 0):
            with undisturbed:
                seen.append(os.sched_getscheduler(0))
                time.sleep(seconds)
        seen.append(os.sched_getscheduler(0))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    return seen


def test_a_call_after_a_long_one_has_the_policy_batch(monkeypatch):
    monkeypatch.setattr(undisturbed_calls, "_LONG_CALL", 0.1)
    other, batch = os.SCHED_OTHER, os.SCHED_BATCH
    assert policies() == [batch, other, batch, other]


def test_the_policy_of_the_user_stays():
    assert policies(os.SCHED_IDLE) == [os.SCHED_IDLE] * 4


def test_a_sandbox_may_forbid_it(monkeypatch):
    def forbidden(*_):
        raise PermissionError

    monkeypatch.setattr(os, "sched_setscheduler", forbidden)
    with UndisturbedCalls():
        assert os.sched_getscheduler(0) == os.SCHED_OTHER


def test_an_error_restores_the_policy():
    with pytest.raises(KeyError), UndisturbedCalls():
        raise KeyError
    assert os.sched_getscheduler(0) == os.SCHED_OTHER
