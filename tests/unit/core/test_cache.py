"""The cache folder is private to its user, whichever function creates it."""

import os

import pytest

from unmess.core.cache.artifacts import write_artifact
from unmess.core.cache.folder import cache_folder, make_private
from unmess.core.cache.reproducer import write_reproducer


@pytest.fixture(autouse=True)
def open_to_all(tmp_path, monkeypatch):
    monkeypatch.setenv("UNMESS_CACHE", str(tmp_path / "above" / "cache"))
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.mark.parametrize(
    "write",
    [
        lambda: write_artifact("key", b"content", runner="reference", model="model"),
        lambda: write_reproducer("module {}", "model"),
        lambda: make_private(cache_folder() / "ops"),
    ],
)
def test_created_folders_are_private(write):
    write()
    (part,) = cache_folder().iterdir()
    for folder in (cache_folder(), part):
        assert folder.stat().st_mode & 0o077 == 0


def test_an_existing_folder_keeps_its_mode():
    cache_folder().mkdir(parents=True)
    cache_folder().parent.chmod(0o755)
    cache_folder().chmod(0o755)
    make_private(cache_folder() / "ops")
    assert cache_folder().stat().st_mode & 0o777 == 0o755
