"""What is kept in the cache folder: whole, bounded, and never in the way."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from unmess.core.artifacts import artifact_folder, read_artifact, size_limit, write_artifact
from unmess.core.error import Error


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("UNMESS_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "compiled"


def test_what_was_written_is_read(folder):
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
def test_damaged_files_are_missing_ones(folder, damage):
    write_artifact("key", b"content")
    file = folder / "key"
    file.write_bytes(damage(file.read_bytes()))
    assert read_artifact("key") is None
    write_artifact("key", b"content")
    assert read_artifact("key") == b"content"


def test_what_was_not_used_for_longest_goes_first(folder, monkeypatch):
    monkeypatch.setenv("UNMESS_CACHE_MB", "4")
    for age, key in enumerate("dcba"):
        write_artifact(key, bytes(1 << 20) if key != "a" else bytes(1 << 19))
        os.utime(folder / key, (1000 - age, 1000 - age))
    (folder / "tmpleft").write_bytes(b"of a process that was killed")
    os.utime(folder / "tmpleft", (1, 1))
    assert read_artifact("a") is not None
    write_artifact("e", bytes(1 << 20))
    assert sorted(os.listdir(folder)) == ["a", "c", "d", "e"]


def test_what_is_larger_than_all_may_be_is_not_kept(folder, monkeypatch):
    monkeypatch.setenv("UNMESS_CACHE_MB", "1")
    write_artifact("small", b"content")
    write_artifact("large", bytes(1 << 20))
    assert os.listdir(folder) == ["small"]


def test_a_folder_that_cannot_be_written_costs_nothing_else(tmp_path, monkeypatch):
    file = tmp_path / "file"
    file.touch()
    monkeypatch.setenv("UNMESS_CACHE", str(file / "cache"))
    write_artifact("key", b"content")
    assert read_artifact("key") is None


def test_a_full_disk_leaves_nothing_behind(folder, monkeypatch):
    def full(_source, _target):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    write_artifact("key", b"content")
    assert os.listdir(folder) == []


def test_a_size_that_is_no_number_is_an_error(monkeypatch):
    monkeypatch.setenv("UNMESS_CACHE_MB", "much")
    with pytest.raises(Error, match="UNMESS_CACHE_MB is 'much'"):
        size_limit()


def test_processes_that_write_and_evict_at_once_read_whole_files(folder):
    script = """
import random, sys
from unmess.core.artifacts import read_artifact, write_artifact
random.seed(sys.argv[1])
found = 0
for _ in range(150):
    key = random.choice("abcdef")
    content = read_artifact(key)
    assert content is None or content == key.encode() * 300_000
    found += content is not None
    write_artifact(key, key.encode() * 300_000)
assert found
"""
    environment = {
        **os.environ,
        "UNMESS_CACHE_MB": "1",
        "PYTHONPATH": str(Path(__file__).parents[3]),
    }
    children = [
        subprocess.Popen([sys.executable, "-c", script, str(seed)], env=environment)
        for seed in range(3)
    ]
    assert [child.wait(timeout=60) for child in children] == [0, 0, 0]
    files = list(folder.iterdir())
    assert sum(file.stat().st_size for file in files) <= 1 << 20
    assert {file.name for file in files} <= set("abcdef")
