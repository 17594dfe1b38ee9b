"""Commands run in a fork: crashes of the fork are reported, and signals are forwarded to it."""

import json
import signal
import subprocess
import sys

import pytest

SUPERVISED = """
import os, signal, sys, time
from unmess.cli.supervision import supervised
from unmess.core.processes import crash_log
from unmess.core.processes import current_stage

# Under nohup, the tests ignore this signal, and so would this process.
signal.signal(signal.SIGHUP, signal.SIG_DFL)

def work():
{body}

print(f"status {{supervised(work)}}", flush=True)
"""


def script(body):
    text = "\n".join(f"    {line}" for line in body.strip().splitlines())
    return [sys.executable, "-c", SUPERVISED.format(body=text)]


def run(body):
    return subprocess.run(script(body), capture_output=True, text=True, timeout=60)


def test_status_and_streams_are_those_of_the_function():
    done = run("print('out')\nprint('err', file=sys.stderr)\nreturn 7")
    # The fork exits within `supervised`. Only the parent prints the status.
    assert (done.returncode, done.stdout, done.stderr) == (0, "out\nstatus 7\n", "err\n")


def test_an_exception_is_printed_once():
    done = run("raise ValueError('not today')")
    assert done.stdout == "status 1\n"
    assert done.stderr.count("ValueError: not today") == 1


@pytest.mark.parametrize("name", ["SIGSEGV", "SIGABRT", "SIGFPE"])
def test_a_crash_names_the_stage(name):
    done = run(f"current_stage.enter_stage('compile')\nos.kill(os.getpid(), signal.{name})")
    assert done.stdout == "status 3\n"
    assert done.stderr.splitlines()[0] == f"compile: crashed with {name}"
    assert "Traceback" not in done.stderr


def test_a_process_that_the_system_kills():
    done = run("os.kill(os.getpid(), signal.SIGKILL)")
    assert done.stderr.splitlines() == [
        "source: crashed with SIGKILL",
        "  hint: the system may have run out of memory: close other programs and try again",
    ]


def test_a_crash_with_json_prints_a_document():
    done = run("crash_log.record(json=True)\nos.abort()")
    document, _, rest = done.stdout.partition("status")
    assert json.loads(document)["error"] == "crashed with SIGABRT" and rest == " 2\n"


def test_a_crash_that_does_not_happen_again_has_no_reproducer(tmp_path):
    once = tmp_path / "once"
    body = f"""
current_stage.enter_stage("linalg")
if not os.path.exists({str(once)!r}):
    open({str(once)!r}, "w").close()
    os.abort()
current_stage.enter_stage("compile")
open({str(tmp_path / "twice")!r}, "w").close()
return 0
"""
    done = run(body)
    assert done.stderr.splitlines()[0] == "linalg: crashed with SIGABRT"
    assert "repro" not in done.stderr
    # The process that looks for a reproducer stops after the stage that crashed.
    assert not (tmp_path / "twice").exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_to_the_parent_reaches_the_fork(number):
    with subprocess.Popen(
        script("print('ready', flush=True)\ntime.sleep(60)"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout.readline() == "ready\n"
        process.send_signal(number)
        # If the fork does not get the signal, it ends later, with another status.
        process.communicate()
    assert process.returncode == -number


def test_the_fork_ends_with_its_parent():
    with subprocess.Popen(
        script("print('ready', flush=True)\ntime.sleep(60)"), stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "ready\n"
        process.kill()
        # The pipe is at its end only when the fork has exited, too.
        assert process.communicate(timeout=30) == ("", None)


@pytest.mark.parametrize("status", [0, 5])
def test_model_code_that_exits_is_reported(status):
    done = run(f"current_stage.enter_stage('capture')\nos._exit({status})")
    assert done.stdout == "status 3\n"
    assert done.stderr.splitlines()[0] == (
        f"capture: the model's code ended the process with status {status}"
    )
