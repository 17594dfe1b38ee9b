"""Drivers are queried in separate processes. Every failure of a driver becomes one line."""

import os
import subprocess
import sys
import textwrap

import pytest

from pipelines.iree import devices as subject
from unmess.core.processes.children import command

RUN = """
from pipelines.iree import probe
def ask(name):
{}
probe._ask = ask
probe.main()
"""


@pytest.fixture
def answered(monkeypatch):
    """Returns a function that queries drivers with Python code, which reads the driver `name`."""

    def ask(code, *drivers):
        body = RUN.format(textwrap.indent(code, "    "))
        monkeypatch.setattr(
            subject.children,
            "command",
            lambda _module, *names: [*command("")[:2], "-c", body, *names],
        )
        return subject.ask_drivers(drivers or ("vulkan",))

    return ask


def test_the_cpu_is_a_device():
    assert subject.devices("local-task").problem is None
    assert subject.devices("local-task").default is not None


def test_a_driver_that_is_unknown():
    answer = subject.devices("abacus")
    assert answer.default is None
    assert "abacus" in answer.problem


def test_crash_of_a_driver_does_not_affect_the_others(answered):
    code = "import os\nif name == 'cuda': os.kill(os.getpid(), 11)\nreturn {'devices': []}"
    assert answered(code, "cuda", "hip") == {
        "cuda": subject.Devices(problem="the driver crashed with SIGSEGV"),
        "hip": subject.Devices(problem="the driver found no device"),
    }


def test_hang_of_a_driver_does_not_affect_the_others(answered, monkeypatch):
    def communicate(process, input=None, timeout=None):
        """Times out when the other driver has answered."""
        assert timeout == subject._SECONDS
        output = b""
        while b"hip" not in output:
            part = os.read(process.stdout.fileno(), 1 << 16)
            assert part, "the process has ended"
            output += part
        raise subprocess.TimeoutExpired(process.args, timeout, output)

    monkeypatch.setattr(subject.subprocess.Popen, "communicate", communicate)
    code = "import time\nif name == 'cuda': time.sleep(60)\nreturn {'devices': []}"
    answers = answered(code, "cuda", "hip")
    assert "did not answer" in answers["cuda"].problem
    assert answers["hip"].problem == "the driver found no device"


def test_a_driver_that_ends_the_process(answered):
    problem = answered("import os\nos._exit(3)")["vulkan"].problem
    assert problem == "the driver crashed with status 3"


def test_output_of_a_driver_is_ignored(answered):
    answer = answered(
        "print('WARNING: testing use only')\nprint(-1)\n"
        "return {'devices': [{'name': 'one', 'report': 'api: 1.3'}]}"
    )["vulkan"]
    assert answer.default == subject.Device("one", "api: 1.3")
    assert answer.default.find(r"api: (\S+)") == "1.3"


def test_a_probe_that_cannot_start(monkeypatch):
    monkeypatch.setattr(
        subject.children, "command", lambda *_: [sys.executable, "-c", "raise SystemExit('no')"]
    )
    assert subject.ask_drivers(("hip",))["hip"].problem == "the query of the driver failed: no"
