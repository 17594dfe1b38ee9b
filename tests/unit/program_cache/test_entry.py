"""Cache entries of captured programs are complete or absent, even if a process is killed."""

import multiprocessing
import os
import random
import signal
import time

import pytest

from unmess.core.cache.eviction import UNFINISHED
from unmess.core.files.reading import described
from unmess.program_cache import entry as entries_module
from unmess.program_cache.entry import (
    ABOUT,
    IR,
    Entry,
    Missing,
    entries,
    find,
    make_room,
    programs_folder,
    programs_limit,
    publish,
    unfinished,
    write_about,
)
from unmess.program_cache.request import Decoder, Request

NOTHING = {
    "files": {},
    "folders": {},
    "variables": {},
    "modules": {"names": [], "folders": [], "providers": {}},
}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("UNMESS_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "programs"


def write(request, content=b"ir", dependencies=NOTHING):
    with unfinished(programs_folder()) as scratch:
        (scratch / IR).write_bytes(content)
        about = {
            "made": time.time(),
            "model": request.model,
            "dependencies": dependencies,
            "files": described(scratch, [IR]),
            "entries": {"prefill": {}, "decode": {}},
        }
        write_about(scratch, about)
        publish(scratch, programs_folder() / request.key())


def test_written_entry_is_found(folder):
    request = Request("model.py")
    assert isinstance(find(request), Missing)
    write(request)
    found = find(request)
    assert isinstance(found, Entry)
    assert (found.folder / IR).read_bytes() == b"ir"
    # The cache of compiled programs looks them up by their entry points, in this order.
    assert list(found.about["entries"]) == ["prefill", "decode"]
    assert folder.stat().st_mode & 0o077 == 0
    assert [one.model for one in entries()] == ["model.py"]


def test_key_depends_on_every_part_of_a_request(tmp_path, monkeypatch):
    one = Request(
        "model.py", ("4xf32",), ("x.0=n",), "strict", ("aten.gelu",), Decoder(64), False, "b", False
    )
    others = [
        Request("model.py:other", *list(vars(one).values())[1:]),
        *(
            Request(**{**vars(one), name: value})
            for name, value in {
                "inputs": ("8xf32",),
                "dynamic": ("x.0=m",),
                "strategy": "auto",
                "backend_legal_ops": (),
                "decoder": Decoder(128),
                "trust": True,
                "only": "c",
                "fold_constants": True,
            }.items()
        ),
        Request(**{**vars(one), "decoder": Decoder(64, "bfloat16")}),
        Request(**{**vars(one), "decoder": Decoder(64, batch=2)}),
    ]
    keys = {one.key(), *(other.key() for other in others)}
    assert len(keys) == 1 + len(others)
    # The same relative path is another file in another folder.
    (tmp_path / "model.py").write_text("")
    monkeypatch.chdir(tmp_path)
    assert one.key() not in keys


def test_a_changed_dependency_is_named(tmp_path):
    request = Request("model.py")
    file = tmp_path / "layers.py"
    write(request, dependencies={**NOTHING, "files": {str(file): {"sha256": "a"}}})
    assert find(request) == Missing(f"{file} has changed")


@pytest.mark.parametrize("name", [ABOUT, IR])
@pytest.mark.parametrize(
    "damage",
    [
        lambda content: content[:-1],
        lambda content: b"",
        lambda content: content[:-2] + bytes([content[-2] ^ 1]) + content[-1:],
    ],
)
def test_damaged_entries_are_reported_and_made_again(name, damage, capfd):
    request = Request("model.py")
    write(request)
    path = find(request).folder / name
    path.write_bytes(damage(path.read_bytes()))
    assert isinstance(find(request), Missing)
    assert "was damaged and is captured again" in capfd.readouterr().err
    assert not path.exists()
    write(request)
    assert isinstance(find(request), Entry)


def test_a_missing_file_is_damage(capfd):
    request = Request("model.py")
    write(request)
    (find(request).folder / IR).unlink()
    assert isinstance(find(request), Missing)
    assert f"{IR} is missing" in capfd.readouterr().err


def test_new_entry_replaces_an_older_one(folder):
    request = Request("model.py")
    write(request, b"old")
    with (find(request).folder / IR).open("rb") as old:
        write(request, b"new")
        assert (find(request).folder / IR).read_bytes() == b"new"
        assert old.read() == b"old"
    assert os.listdir(folder) == [request.key()]


def test_concurrent_writers_leave_one_complete_entry(folder):
    request = Request("model.py")
    context = multiprocessing.get_context("fork")
    started = context.Barrier(4)
    processes = [context.Process(target=_write_often, args=(started, n)) for n in range(4)]
    for process in processes:
        process.start()
    while any(process.is_alive() for process in processes):
        found = find(request)
        if isinstance(found, Entry):
            assert found.about["model"] == "model.py"
    assert all(process.exitcode == 0 for process in processes)
    found = find(request)
    assert (found.folder / IR).read_bytes()[1:] == bytes(1000)
    assert os.listdir(folder) == [request.key()]


def _write_often(started, number):
    started.wait()
    for _ in range(20):
        write(Request("model.py"), bytes([number]) + bytes(1000))


def test_a_killed_process_leaves_no_entry(folder):
    context = multiprocessing.get_context("fork")
    process = context.Process(target=_die_while_writing)
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    assert isinstance(find(Request("model.py")), Missing)
    (left,) = folder.iterdir()
    assert left.name.startswith(UNFINISHED)
    assert entries() == []
    # Another process may still be writing it.
    make_room(programs_limit())
    assert left.exists()
    long_ago = time.time() - 2 * 3600
    for path in (left / IR, left):
        os.utime(path, (long_ago, long_ago))
    make_room(programs_limit())
    assert not left.exists()


def _die_while_writing():
    with unfinished(programs_folder()) as scratch:
        (scratch / IR).write_bytes(b"half")
        os.kill(os.getpid(), signal.SIGKILL)


def test_least_recently_used_entry_is_evicted_first(monkeypatch):
    monkeypatch.setenv("UNMESS_PROGRAMS_MB", "1")
    names = ("a.py", "b.py", "c.py")
    for age, name in zip((300, 200, 100), names, strict=True):
        write(Request(name), bytes(400 << 10))
        for path in find(Request(name)).folder.iterdir():
            os.utime(path, (time.time() - age,) * 2)
    assert isinstance(find(Request("a.py")), Entry)
    make_room(100 << 10)
    assert [one.model for one in entries()] == ["a.py", "c.py"]


def test_storing_a_small_program_rarely_lists_the_others(monkeypatch):
    listed = []
    monkeypatch.setattr("unmess.core.cache.eviction.evict", lambda *args: listed.append(args))
    monkeypatch.setenv("UNMESS_PROGRAMS_MB", "4")
    random.seed(0)
    for _ in range(500):
        make_room(1000)
    assert 10 < len(listed) < 60
    make_room(16 << 10)
    assert listed[-1] == ([], 15 << 18, [programs_folder()])


def test_zero_turns_the_cache_off(monkeypatch):
    write(Request("model.py"))
    monkeypatch.setenv("UNMESS_PROGRAMS_MB", "0")
    assert find(Request("model.py")) == Missing("the cache is off")


def test_an_entry_of_another_format_is_not_found(monkeypatch):
    write(Request("model.py"))
    monkeypatch.setattr("unmess.program_cache.request.FORMAT", 0)
    assert isinstance(find(Request("model.py")), Missing)


def test_failed_write_leaves_no_files(folder, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(entries_module.os, "rename", full)
    with pytest.raises(OSError):
        write(Request("model.py"))
    assert list(folder.iterdir()) == []
