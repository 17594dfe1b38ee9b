"""Drivers are asked in a process of their own: whatever it does, the answer is one line."""

import sys

import pytest

from pipelines.iree import devices as subject


@pytest.fixture
def answered(monkeypatch):
    """The answer of a driver whose process runs the given Python code."""

    def ask(code):
        monkeypatch.setattr(subject.processes, "command", lambda *_: [sys.executable, "-c", code])
        subject.devices.cache_clear()
        answer = subject.devices("vulkan")
        subject.devices.cache_clear()
        return answer

    return ask


def test_the_cpu_is_a_device():
    assert subject.devices("local-task").problem is None
    assert subject.devices("local-task").default is not None


def test_a_driver_that_is_unknown():
    answer = subject.devices("abacus")
    assert answer.default is None
    assert "abacus" in answer.problem


def test_a_driver_that_crashes(answered):
    answer = answered("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)")
    assert answer == subject.Devices(problem="the driver crashes with SIGSEGV")


def test_a_driver_that_hangs(answered, monkeypatch):
    monkeypatch.setattr(subject, "_SECONDS", 0.2)
    assert "did not answer" in answered("import time; time.sleep(60)").problem


def test_a_driver_that_ends_the_process(answered):
    assert answered("import sys; sys.exit('no licence')").problem.endswith("no licence")


def test_a_driver_that_prints(answered):
    answer = answered(
        "print('WARNING: testing use only'); "
        """print('{"devices": [{"name": "one", "report": "api: 1.3"}]}')"""
    )
    assert answer.default == subject.Device("one", "api: 1.3")
    assert answer.default.find(r"api: (\S+)") == "1.3"


def test_a_driver_without_devices(answered):
    assert answered("""print('{"devices": []}')""").problem == "the driver finds no device"
