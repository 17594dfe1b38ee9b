"""Files are written under temporary names and renamed: they are whole, or do not change."""

import os
import stat

import pytest

from unmess.core.cache import reproducer
from unmess.core.errors.error import Error
from unmess.core.files.writing import Replacements, check_writable, replacing, write_text
from unmess.row_log import appending


def content(folder):
    return {path.name: path.read_text() for path in folder.iterdir()}


def test_files_appear_together_when_all_are_complete(tmp_path):
    (tmp_path / "a").write_text("old a")
    with Replacements() as files:
        files.beside(tmp_path / "a").write_text("new a")
        files.beside(tmp_path / "b").write_text("new b")
        assert (tmp_path / "a").read_text() == "old a" and not (tmp_path / "b").exists()
    assert content(tmp_path) == {"a": "new a", "b": "new b"}


@pytest.mark.parametrize("problem", [OSError("full"), KeyboardInterrupt, SystemExit])
def test_a_failure_leaves_earlier_files(tmp_path, problem):
    (tmp_path / "a").write_text("old a")
    with pytest.raises(BaseException), Replacements() as files:  # noqa: B017
        files.beside(tmp_path / "a").write_text("new a")
        files.beside(tmp_path / "b").write_text("new b")
        raise problem
    assert content(tmp_path) == {"a": "old a"}


def test_a_full_disk_leaves_the_earlier_file(tmp_path, small_files):
    file = tmp_path / "file"
    file.write_text("old")
    with small_files(1 << 12), pytest.raises(OSError, match="File too large"):
        write_text(file, "new" * 10_000)
    assert content(tmp_path) == {"file": "old"}


def test_permissions_are_those_of_the_earlier_file_or_the_users(tmp_path):
    old, new, private = tmp_path / "old", tmp_path / "new", tmp_path / "private"
    old.touch(0o600)
    old.chmod(0o754)
    before = os.umask(0o026)
    try:
        write_text(old, "")
        write_text(new, "")
        with replacing(private, mode=0o600):
            pass
    finally:
        os.umask(before)
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (old, new, private)]
    assert modes == [0o754, 0o640, 0o600]


@pytest.mark.parametrize("exists", [True, False])
def test_links_are_followed(tmp_path, exists):
    (tmp_path / "folder").mkdir()
    target, link = tmp_path / "folder" / "target", tmp_path / "link"
    if exists:
        target.write_text("old")
    link.symlink_to(target)
    write_text(link, "new")
    assert link.is_symlink() and content(tmp_path / "folder") == {"target": "new"}


def test_devices_and_pipes_are_written_and_stay(tmp_path):
    with pytest.raises(OSError, match="No space left on device"):
        write_text("/dev/full", "new")
    write_text("/dev/null", "new")
    assert stat.S_ISCHR(os.stat("/dev/full").st_mode) and stat.S_ISCHR(os.stat("/dev/null").st_mode)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_text(pipe, "new")
    assert os.read(reader, 10) == b"new" and stat.S_ISFIFO(pipe.stat().st_mode)
    os.close(reader)


@pytest.mark.parametrize(
    ("name", "cause"),
    [
        ("", "the path is a folder"),
        ("missing/file", "No such file or directory"),
        ("plain/file", "Not a directory"),
        ("n" * 300, "File name too long"),
        ("nul\0", "embedded null byte"),
    ],
)
def test_paths_that_cannot_be_written(tmp_path, name, cause):
    (tmp_path / "plain").touch()
    path = f"{tmp_path}/{name}"
    with pytest.raises(Error) as caught:
        check_writable(path)
    assert caught.value.cause == f"cannot write {path}: {cause}"
    assert caught.value.exit_status == 2
    assert content(tmp_path) == {"plain": ""}


def test_a_check_leaves_no_trace(tmp_path):
    (tmp_path / "old").write_text("as it was")
    for name in ("old", "new"):
        check_writable(tmp_path / name)
    assert content(tmp_path) == {"old": "as it was"}


def test_a_full_disk_leaves_no_half_reproducer(tmp_path, monkeypatch, small_files):
    monkeypatch.setenv("UNMESS_CACHE", str(tmp_path))
    with small_files(1 << 12):
        assert reproducer.write_reproducer("text" * 10_000, "model") is None
        assert reproducer.write_reproducer("text", "model") is not None
    assert len(list((tmp_path / "repro").iterdir())) == 1


def test_rows_after_a_full_disk_stay_whole(tmp_path):
    log = tmp_path / "rows"
    log.write_text('{"a": 1}\n{"b"')
    with appending(log) as file:
        file.write('{"c": 2}\n')
    assert log.read_text().splitlines() == ['{"a": 1}', '{"b"', '{"c": 2}']
    with appending(log) as file:
        file.write('{"d": 3}\n')
    assert log.read_text().splitlines()[2:] == ['{"c": 2}', '{"d": 3}']
