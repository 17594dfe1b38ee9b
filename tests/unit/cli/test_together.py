"""Models that are checked at the same time."""

import os
import threading

import pytest

from unmess.core.processes.threads import wait_passively
from unmess.isolated import Options, check_together, together
from unmess.row import Row

MODELS = [f"m{number}.py" for number in range(5)]


def rows(model, runners):
    return [Row(model, runner, True, "done") for runner in runners]


def checked(monkeypatch, check, jobs):
    monkeypatch.setattr(together, "check_isolated", check)
    work = [(model, ("reference", "iree-cpu")) for model in MODELS]
    return check_together(None, work, Options(), jobs)


@pytest.mark.parametrize("jobs", [1, 2, 9])
def test_every_model_and_runner_has_one_row(monkeypatch, jobs):
    def check(_parent, model, runners, _options, **_callbacks):
        yield from rows(model, runners)

    found = list(checked(monkeypatch, check, jobs))
    assert sorted(row.model for row in found) == sorted(MODELS * 2)
    assert len({(row.model, row.runner) for row in found}) == 2 * len(MODELS)


def test_models_are_checked_at_the_same_time(monkeypatch):
    both = threading.Barrier(2, timeout=30)

    def check(_parent, model, runners, _options, **_callbacks):
        if model in MODELS[:2]:
            both.wait()
        yield from rows(model, runners)

    assert len(list(checked(monkeypatch, check, 2))) == 2 * len(MODELS)


def test_an_exception_reaches_the_caller(monkeypatch):
    def check(_parent, model, runners, _options, **_callbacks):
        if model == MODELS[2]:
            raise OSError("no more processes")
        yield from rows(model, runners)

    with pytest.raises(OSError, match="no more processes"):
        list(checked(monkeypatch, check, 2))


def test_a_caller_that_stops_early_starts_no_more(monkeypatch):
    begun = []

    def check(_parent, model, runners, _options, **_callbacks):
        begun.append(model)
        yield from rows(model, runners)
        stopped.wait(30)

    stopped = threading.Event()
    found = checked(monkeypatch, check, 1)
    next(found)
    found.close()
    stopped.set()
    assert begun == MODELS[:1]


@pytest.mark.parametrize(
    ("chosen", "jobs", "expected"),
    [(None, 1, None), (None, 2, "passive"), ("active", 2, "active")],
)
def test_threads_of_several_jobs_sleep_while_they_wait(monkeypatch, chosen, jobs, expected):
    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    if chosen is not None:
        monkeypatch.setenv("OMP_WAIT_POLICY", chosen)
    wait_passively(jobs)
    assert os.environ.get("OMP_WAIT_POLICY") == expected
