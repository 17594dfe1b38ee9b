"""The cache of compiled programs: whole entries, a bounded size, and no fatal write errors."""

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from unmess.core.cache import artifacts, eviction
from unmess.core.cache.artifacts import (
    artifact_folder,
    list_artifacts,
    read_artifact,
    size_limit,
)
from unmess.core.cache.eviction import Item, evict, items_in, limit_size
from unmess.core.errors.error import Error


def write_artifact(key, content, model="model"):
    return artifacts.write_artifact(key, content, runner="reference", model=model)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("UNMESS_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "compiled"


def test_a_written_artifact_is_read_back(folder):
    assert read_artifact("key") is None
    write_artifact("key", b"content")
    assert read_artifact("key") == b"content"
    assert read_artifact("other") is None
    assert artifact_folder() == folder
    assert folder.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: content[:-1],
        lambda content: content[:10],
        lambda content: b"",
        lambda content: content[:-1] + bytes([content[-1] ^ 1]),
    ],
)
def test_damaged_files_are_reported_and_removed(folder, damage, capfd):
    write_artifact("key", b"content")
    file = folder / "key"
    file.write_bytes(damage(file.read_bytes()))
    assert read_artifact("key") is None
    assert capfd.readouterr().err == (
        f"unmess: a compiled program in the cache was damaged and is compiled again: {file}\n"
    )
    assert not file.exists()
    write_artifact("key", b"content")
    assert read_artifact("key") == b"content"


def test_the_least_recently_used_is_evicted_first(folder, monkeypatch):
    monkeypatch.setenv("UNMESS_CACHE_MB", "4")
    for age, key in enumerate("dcba"):
        write_artifact(key, bytes(1 << 20) if key != "a" else bytes(1 << 19))
        os.utime(folder / key, (1000 - age, 1000 - age))
    for name in ("unfinished-1", "unfinished-2"):
        (folder / name).write_bytes(b"of a process that was killed, or is at work")
    os.utime(folder / "unfinished-1", (1, 1))
    assert read_artifact("a") is not None
    write_artifact("e", bytes(1 << 20))
    assert sorted(os.listdir(folder)) == ["a", "c", "d", "e", "unfinished-2"]


def test_artifacts_are_listed_and_evicted(folder):
    for age, key in enumerate("abc"):
        write_artifact(key, bytes(1000), model=f"model {key}")
        os.utime(folder / key, (1000 - age, 1000 - age))
    (folder / "unfinished-1").write_bytes(b"half")
    held = list_artifacts()
    assert [(one.key, one.runner, one.model, one.used) for one in held] == [
        ("a", "reference", "model a", 1000),
        ("b", "reference", "model b", 999),
        ("c", "reference", "model c", 998),
    ]
    assert all(one.bytes == (folder / one.key).stat().st_size > 1000 for one in held)
    assert evict([artifact_folder()], 2500).freed == held[2].bytes
    assert [one.key for one in list_artifacts()] == ["a", "b"]
    assert evict([artifact_folder()], 0) == (held[0].bytes + held[1].bytes, 0)
    assert list_artifacts() == [] and evict([artifact_folder()], 0) == (0, 0)


@pytest.fixture
def listings(monkeypatch):
    """A list that grows by one each time the folder is listed for its size."""
    listed = []
    monkeypatch.setattr(eviction, "evict", lambda *args: listed.append(args) or evict(*args))
    return listed


def total(folder):
    return sum(path.stat().st_size for path in folder.iterdir())


def test_few_small_writes_list_the_folder(folder, listings):
    """About one in sixteen, whether the folder is empty or full."""
    random.seed(0)
    folder.mkdir(parents=True)
    for _ in range(500):
        limit_size(folder, 4 << 20, written=1000)
    while_empty = len(listings)
    for name in "abcde":
        with (folder / name).open("wb") as file:
            file.truncate(1 << 20)
    for _ in range(500):
        limit_size(folder, 4 << 20, written=1000)
    assert 10 < while_empty < 60 and 10 < len(listings) - while_empty < 60
    assert total(folder) == 3 << 20


def test_each_large_write_lists_the_folder(folder, monkeypatch, listings):
    monkeypatch.setenv("UNMESS_CACHE_MB", "4")
    for number in range(8):
        write_artifact(f"{number}", bytes(1 << 20))
        assert total(folder) <= 4 << 20
    assert len(listings) == 8


def test_an_artifact_that_fills_the_cache_is_kept(folder, monkeypatch):
    monkeypatch.setenv("UNMESS_CACHE_MB", "1")
    write_artifact("small", bytes(1000))
    assert write_artifact("large", bytes((1 << 20) - 200))
    assert os.listdir(folder) == ["large"]


def test_an_artifact_above_the_limit_is_not_kept(folder, monkeypatch):
    monkeypatch.setenv("UNMESS_CACHE_MB", "1")
    assert write_artifact("small", b"content")
    assert not write_artifact("large", bytes(1 << 20))
    assert os.listdir(folder) == ["small"]


def test_an_unwritable_folder_is_not_fatal(tmp_path, monkeypatch, capfd):
    file = tmp_path / "file"
    file.touch()
    monkeypatch.setenv("UNMESS_CACHE", str(file / "cache"))
    assert not write_artifact("key", b"content")
    assert "cannot store the compiled program" in capfd.readouterr().err
    assert read_artifact("key") is None and list_artifacts() == []


def test_a_full_disk_leaves_nothing_behind(folder, capfd, small_files):
    write_artifact("small", b"content")
    with small_files(1 << 16):
        write_artifact("key", bytes(1 << 20))
    assert (
        f"cannot store the compiled program in {folder}: File too large" in capfd.readouterr().err
    )
    assert os.listdir(folder) == ["small"]


def test_a_size_limit_that_is_not_a_number_is_an_error(monkeypatch):
    monkeypatch.setenv("UNMESS_CACHE_MB", "much")
    with pytest.raises(Error, match="UNMESS_CACHE_MB is 'much'"):
        size_limit()


def test_processes_that_write_and_evict_at_once_read_whole_files(folder):
    script = """
import random, sys
from unmess.core.cache.artifacts import read_artifact, write_artifact
random.seed(sys.argv[1])
found = 0
for _ in range(150):
    key = random.choice("abcdef")
    content = read_artifact(key)
    assert content is None or content == key.encode() * 300_000
    found += content is not None
    write_artifact(key, key.encode() * 300_000, runner="reference", model=key)
assert found
"""
    environment = {
        **os.environ,
        "UNMESS_CACHE_MB": "1",
        "PYTHONPATH": str(Path(__file__).parents[3]),
    }
    children = [
        subprocess.Popen([sys.executable, "-c", script, str(seed)], env=environment)
        for seed in range(8)
    ]
    assert [child.wait(timeout=60) for child in children] == [0] * 8
    files = list(folder.iterdir())
    assert sum(file.stat().st_size for file in files) <= 1 << 20
    assert {file.name for file in files} <= set("abcdef")


def test_eviction_leaves_subfolders(folder):
    write_artifact("key", b"content")
    (folder / "sub").mkdir()
    assert evict([folder], 0).freed > 0
    assert [path.name for path in folder.iterdir()] == ["sub"]


def test_a_subfolder_is_listed_with_all_of_its_files(tmp_path):
    cache, outside = tmp_path / "cache", tmp_path / "outside"
    assert items_in(cache) == []
    (cache / "entry" / "bundle").mkdir(parents=True)
    (cache / "empty").mkdir()
    outside.mkdir()
    sizes = {"file": 5, "entry/about": 10, "entry/bundle/code": 100}
    for used, (name, size) in enumerate(sizes.items(), 1000):
        (cache / name).write_bytes(bytes(size))
        os.utime(cache / name, (used, used))
    (outside / "file").write_bytes(bytes(1000))
    for name in ("link", "entry/link"):
        (cache / name).symlink_to(outside / "file")
    (cache / "linked").symlink_to(outside)
    os.utime(cache / "empty", (3000, 3000))
    assert sorted(items_in(cache)) == [
        Item(1000, 5, 1, False, str(cache / "file")),
        Item(1002, 110, 2, True, str(cache / "entry")),
        Item(3000, 0, 0, True, str(cache / "empty")),
    ]
