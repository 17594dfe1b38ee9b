"""The digest of the environment changes with every installed package."""

import os

import pytest

from unmess.program_cache import environment


@pytest.fixture
def packages(tmp_path, monkeypatch):
    about = tmp_path / "wheel-1.0.dist-info"
    about.mkdir()
    (about / "RECORD").write_text("wheel/__init__.py,sha256=a,4\n")
    (about / "METADATA").write_text("Name: wheel\n")
    (tmp_path / "single.py").write_text("one = 1\n")
    monkeypatch.setattr(environment, "_package_folders", lambda: [str(tmp_path)])
    return tmp_path


def install_again(packages):
    """Installs a rebuilt wheel of the same version: pip writes a new list of files."""
    record = packages / "wheel-1.0.dist-info" / "RECORD"
    record.write_text("wheel/__init__.py,sha256=b,4\n")


@pytest.mark.parametrize(
    "change",
    [
        install_again,
        lambda folder: os.rename(folder / "wheel-1.0.dist-info", folder / "wheel-1.1.dist-info"),
        lambda folder: (folder / "other-2.0.dist-info").mkdir(),
        lambda folder: (folder / "single.py").write_text("one = 2\n"),
        lambda folder: (folder / "path.pth").write_text("/somewhere\n"),
    ],
    ids=["same version", "update", "new package", "module", "path"],
)
def test_an_installation_changes_the_digest(packages, change):
    before = environment.digest()
    assert environment.digest() == before
    change(packages)
    assert environment.digest() != before


def test_our_own_sources_are_in_the_digest(packages, monkeypatch):
    before = environment.digest()
    monkeypatch.setattr(environment, "digest_of", lambda *folders: "another")
    assert environment.digest() == before  # The imported code is the old one.
    environment.own_digest.cache_clear()
    assert environment.digest() != before
    environment.own_digest.cache_clear()


def test_which_files_belong_to_the_environment(tmp_path):
    assert environment.is_installed(os.__file__)
    assert environment.is_installed(pytest.__file__)
    assert environment.is_installed(environment.__file__)
    assert not environment.is_installed(__file__)
    assert not environment.is_installed(str(tmp_path / "model.py"))
