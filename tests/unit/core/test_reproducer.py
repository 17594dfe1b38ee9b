"""Reproducers: each is a separate file, and a failure to write one is not fatal."""

from pathlib import Path

from unmess.core.cache.folder import cache_folder
from unmess.core.cache.reproducer import write_reproducer


def test_reproducers_never_share_a_name(tmp_path, monkeypatch):
    monkeypatch.setenv("UNMESS_CACHE", str(tmp_path / "cache"))
    first, second = write_reproducer("a", "m/odel"), write_reproducer("b", "m/odel")
    assert first != second
    assert (Path(first).read_text(), Path(second).read_text()) == ("a", "b")
    assert cache_folder() == tmp_path / "cache"


def test_an_unwritable_cache_gives_no_reproducer(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("UNMESS_CACHE", str(tmp_path / "file" / "cache"))
    assert write_reproducer("a", "model") is None
