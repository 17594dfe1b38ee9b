"""Progress output on stderr, and the stages that the library reports to a listener."""

import io
import threading

import pytest

from unmess import progress
from unmess.core.processes.current_stage import enter_stage, listening
from unmess.progress import Progress


class Lines(io.StringIO):
    """Collects output. `seen` waits until it contains a text."""

    def __init__(self):
        super().__init__()
        self._changed = threading.Condition()

    def write(self, text):
        with self._changed:
            count = super().write(text)
            self._changed.notify_all()
            return count

    def seen(self, text, times=1):
        with self._changed:
            return self._changed.wait_for(lambda: self.getvalue().count(text) >= times, timeout=60)


@pytest.fixture
def at_once(monkeypatch):
    monkeypatch.setattr(progress, "_FIRST_SECONDS", 0.0)


def test_a_slow_stage_is_printed(at_once):
    stream = Lines()
    with Progress(stream, quiet=False).showing() as shown:
        shown.begin("m: capture")
        assert stream.seen("m: capture …")
        shown.begin("m: compile")
        assert stream.seen("m: compile …")


def test_a_slow_stage_is_printed_again(at_once, monkeypatch):
    monkeypatch.setattr(progress, "_NEXT_SECONDS", 0.01)
    stream = Lines()
    with Progress(stream, quiet=False).showing() as shown:
        shown.begin("m: compile")
        assert stream.seen("m: compile …", times=2)


def test_quick_stages_are_not_printed(monkeypatch):
    monkeypatch.setattr(progress, "_FIRST_SECONDS", 3600.0)
    stream = io.StringIO()
    with Progress(stream, quiet=False).showing() as shown:
        for stage in ("capture", "import", "torch"):
            shown.begin(stage)
    assert stream.getvalue() == ""


def test_quiet_shows_lines_only(at_once):
    stream = io.StringIO()
    with Progress(stream, quiet=True).showing() as shown:
        shown.begin("m: capture")
        shown.finished("[1/3] m: done")
        shown.line("printed by the model")
    assert stream.getvalue() == "printed by the model\n"


def test_a_terminal_shows_the_stage_and_keeps_other_output(monkeypatch):
    monkeypatch.setattr(progress, "_SPINNER_SECONDS", 0.0)
    monkeypatch.setenv("TERM", "xterm")
    stream = Lines()
    stream.isatty = lambda: True
    with Progress(stream, quiet=False).showing() as shown:
        shown.begin("m: capture")
        assert stream.seen("m: capture … ")
        shown.line("printed by [the] model")
    assert "printed by [the] model\n" in stream.getvalue()
    erase_line = "\x1b[2K"
    assert stream.getvalue().endswith(erase_line)


def test_stages_reach_the_listener_inside_the_block_only():
    stages = []
    enter_stage("before")
    with listening(stages.append):
        enter_stage("capture")
        enter_stage("import")
    enter_stage("after")
    assert stages == ["capture", "import"]
