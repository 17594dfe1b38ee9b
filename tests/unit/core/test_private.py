"""The cache is only read from folders and files that nobody else can change."""

import os
from pathlib import Path

import pytest

from unmess.core.cache.artifacts import artifact_folder, read_artifact, write_artifact
from unmess.core.cache.folder import make_private
from unmess.core.errors.error import Error
from unmess.core.files.private import check_private, open_private

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
SOMEBODY = 12345


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("UNMESS_CACHE", str(tmp_path / "above" / "cache"))
    assert write_artifact("key", b"native code", runner="reference", model="model")
    assert read_artifact("key") == b"native code"
    return tmp_path / "above" / "cache"


def refused(path, problem):
    for use in (
        lambda: read_artifact("key"),
        lambda: write_artifact("other", b"code", runner="reference", model="model"),
    ):
        with pytest.raises(Error) as caught:
            use()
        assert caught.value.stage == "usage"
        assert f"{path} {problem}" in caught.value.cause
        assert "UNMESS_CACHE" in caught.value.hint


@pytest.mark.parametrize("mode", [0o720, 0o702, 0o777])
@pytest.mark.parametrize("place", ["compiled", ".", ".."])
def test_folders_that_others_can_write(cache, place, mode):
    folder = Path(os.path.normpath(cache / place))
    folder.chmod(mode)
    refused(folder, "can be written by other users")
    folder.chmod(0o755)
    assert read_artifact("key") == b"native code"


@as_root
@pytest.mark.parametrize("place", ["compiled", ".", ".."])
def test_folders_of_others(cache, place):
    folder = Path(os.path.normpath(cache / place))
    os.chown(folder, SOMEBODY, -1)
    refused(folder, f"belongs to another user (uid {SOMEBODY})")


def test_a_cache_of_another_user_is_refused(cache, monkeypatch):
    owner = cache.stat().st_uid
    if owner == 0:
        pytest.skip("root is trusted by everybody")
    monkeypatch.setattr(os, "geteuid", lambda: SOMEBODY)
    refused(cache, f"belongs to another user (uid {owner})")


def test_a_sticky_parent_folder_is_accepted(cache):
    """In a folder like /tmp, others can add files, but cannot rename this user's files."""
    cache.parent.chmod(0o1777)
    assert read_artifact("key") == b"native code"
    cache.chmod(0o1777)
    (cache / "compiled").chmod(0o700)
    assert read_artifact("key") == b"native code"
    # In the folder of the artifacts itself, others could add files.
    (cache / "compiled").chmod(0o1777)
    refused(cache / "compiled", "can be written by other users")


@as_root
def test_a_folder_of_others_in_a_sticky_folder_is_refused(cache):
    cache.parent.chmod(0o1777)
    os.chown(cache, SOMEBODY, -1)
    refused(cache, "belongs to another user")


def read_is_refused(problem):
    with pytest.raises(Error, match=problem):
        read_artifact("key")


def test_a_file_that_others_can_write(cache):
    (artifact_folder() / "key").chmod(0o666)
    read_is_refused("can be written by other users")


@as_root
def test_a_file_of_others(cache):
    os.chown(artifact_folder() / "key", SOMEBODY, -1)
    read_is_refused("belongs to another user")


def test_a_link_in_place_of_a_file(cache, tmp_path):
    path = artifact_folder() / "key"
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    read_is_refused("is a link")


def test_a_pipe_in_place_of_a_file(cache):
    path = artifact_folder() / "key"
    path.unlink()
    os.mkfifo(path, 0o600)
    read_is_refused("is not a regular file")


def test_a_link_to_a_private_folder_is_accepted(cache, tmp_path, monkeypatch):
    (tmp_path / "link").symlink_to(cache)
    monkeypatch.setenv("UNMESS_CACHE", str(tmp_path / "link"))
    assert read_artifact("key") == b"native code"


def test_a_link_to_a_shared_folder_is_refused(cache, tmp_path, monkeypatch):
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared").chmod(0o777)
    (tmp_path / "link").symlink_to(tmp_path / "shared")
    monkeypatch.setenv("UNMESS_CACHE", str(tmp_path / "link"))
    with pytest.raises(Error, match="shared can be written by other users"):
        write_artifact("key", b"code", runner="reference", model="model")


def test_a_folder_that_changes_during_the_check(cache, monkeypatch):
    """Each folder is opened relative to its checked parent, not by its path."""
    honest = os.fstat
    folder = artifact_folder()

    def swap(descriptor):
        status = honest(descriptor)
        if folder.exists() and os.path.samestat(status, folder.stat()):
            folder.rename(folder.with_name("old"))
            folder.mkdir()
            (folder / "key").write_bytes(b"other code")
        return status

    monkeypatch.setattr(os, "fstat", swap)
    with open_private(folder / "key") as file:
        assert file.read().endswith(b"native code")


def test_missing_folders(tmp_path):
    with pytest.raises(FileNotFoundError):
        check_private(tmp_path / "missing")
    make_private(tmp_path / "a" / "b" / "c")
    for folder in ("a", "a/b", "a/b/c"):
        assert (tmp_path / folder).stat().st_mode & 0o777 == 0o700
