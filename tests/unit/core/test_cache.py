"""The cache folder is for its user alone, whatever makes it."""

import os

import pytest

from unmess.core.artifacts import write_artifact
from unmess.core.cache import cache_folder, make_private
from unmess.core.reproducer import write_reproducer


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
def test_no_folder_is_for_others(write):
    write()
    (part,) = cache_folder().iterdir()
    for folder in (cache_folder(), part):
        assert folder.stat().st_mode & 0o077 == 0


def test_a_folder_that_is_there_stays_as_it_is():
    cache_folder().mkdir(parents=True)
    cache_folder().parent.chmod(0o755)
    cache_folder().chmod(0o755)
    make_private(cache_folder() / "ops")
    assert cache_folder().stat().st_mode & 0o777 == 0o755
