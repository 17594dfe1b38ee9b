"""Digests of unmess's own code, by which caches find out that it has changed."""

import pytest

from unmess.core.cache import own_sources


@pytest.mark.parametrize("name", ["code.py", "runtime.mlir", "list.yaml"])
def test_a_change_changes_the_digest(name, tmp_path, monkeypatch):
    monkeypatch.setattr(own_sources, "_ROOT", tmp_path)
    (tmp_path / "importers").mkdir()
    file = tmp_path / "importers" / name
    file.write_text("one")
    before = own_sources.digest_of("importers")
    assert own_sources.digest_of("importers") == before
    file.write_text("two")
    assert own_sources.digest_of("importers") != before
