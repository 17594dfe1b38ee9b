"""The clock of the isolated check, tested without a process."""

import pytest

from unmess.isolated import clock as clocks


@pytest.fixture
def clock(monkeypatch):
    """Returns a `Clock` and a function that advances its time."""
    now = [0.0]
    monkeypatch.setattr(clocks.time, "perf_counter", lambda: now[0])

    def pass_seconds(seconds):
        now[0] += seconds

    return clocks.Clock(), pass_seconds


def test_seconds_cover_finished_steps_only(clock):
    clock, pass_seconds = clock
    for stage, seconds in [("source", 9), ("capture", 2), ("import", 1), ("torch", 3)]:
        clock.enter(stage)
        pass_seconds(seconds)
    assert clock.seconds() == {"capture": 2, "import": 1}
    clock.enter("linalg")
    pass_seconds(4)
    # Lowering is not finished, so it has no time yet.
    assert clock.seconds() == {"capture": 2, "import": 1}
    clock.enter("compile")
    assert clock.seconds() == {"capture": 2, "import": 1, "lower": 7}


def test_the_next_runner_keeps_the_time_of_the_capture_only(clock):
    clock, pass_seconds = clock
    for stage in ("capture", "import", "compile"):
        clock.enter(stage)
        pass_seconds(2)
    clock.begin_runner()
    assert clock.seconds() == {"capture": 2}
