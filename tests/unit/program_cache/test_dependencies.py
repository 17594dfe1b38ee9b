"""A cached program is found only if none of its dependencies has changed."""

import os

import pytest

from unmess.program_cache import dependencies
from unmess.program_cache.dependencies import (
    first_change,
    hidden,
    identity,
    listing,
    providers_now,
)

NAMES = ("layers", "torch")


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "layers.py").write_text("width = 4\n")
    (tmp_path / "large.bin").write_bytes(bytes(64))
    return tmp_path


@pytest.fixture
def known(folder, monkeypatch):
    monkeypatch.setattr(dependencies, "_READ", 32)
    monkeypatch.setenv("DEPTH", "3")
    paths = [str(folder / name) for name in ("layers.py", "large.bin", "absent.json")]
    known = {
        "files": {path: identity(path) for path in paths},
        "folders": {str(folder): listing(folder)},
        "variables": {"DEPTH": hidden("3"), "WIDTH": None},
        "modules": {
            "names": NAMES,
            "folders": [str(folder)],
            "providers": providers_now([str(folder)], NAMES),
        },
    }
    assert first_change(known) is None
    return known


def rewrite(path, content):
    """Writes other content of the same size and restores the file's times."""
    before = path.stat()
    path.write_bytes(content)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.mark.parametrize(
    "change, found",
    [
        (lambda folder: rewrite(folder / "layers.py", b"width = 5\n"), "layers.py"),
        (lambda folder: rewrite(folder / "large.bin", bytes(63) + b"1"), "large.bin"),
        (lambda folder: (folder / "layers.py").unlink(), ""),
        (lambda folder: (folder / "absent.json").write_text("{}"), ""),
        (lambda folder: (folder / "new.txt").write_text(""), ""),
        (lambda folder: os.environ.update(DEPTH="4"), "DEPTH"),
        (lambda folder: os.environ.update(WIDTH="4"), "WIDTH"),
        (lambda folder: os.environ.pop("DEPTH"), "DEPTH"),
    ],
    ids=["content", "large", "removed", "appears", "listed", "variable", "set", "unset"],
)
def test_a_change_is_found(folder, known, monkeypatch, change, found):
    monkeypatch.setenv("WIDTH", "")
    monkeypatch.delenv("WIDTH")
    change(folder)
    assert found in first_change(known)


def test_file_that_shadows_an_imported_module_is_found(folder, known):
    known["folders"] = {}
    (folder / "unrelated.py").write_text("")
    assert first_change(known) is None
    (folder / "torch").mkdir()
    assert first_change(known) == "the location of the module torch"


def test_folder_on_the_path_that_shadows_a_module_is_found(known, monkeypatch, tmp_path):
    known["modules"] |= {"folders": [], "providers": {}}
    first, second = tmp_path / "first", tmp_path / "second"
    known["folders"] = {}
    for each in (first, second):
        each.mkdir()
        monkeypatch.syspath_prepend(each)
        assert first_change(known) is None
    (first / "layers.py").write_text("")
    assert first_change(known) == "the location of the module layers"


def test_values_of_variables_are_not_stored(known):
    assert "3" not in known["variables"].values()
