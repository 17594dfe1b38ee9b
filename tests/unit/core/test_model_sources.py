"""Reports quote lines of source files only if the file belongs to the model."""

import sys

import pytest

from unmess.__main__ import main
from unmess.core.errors import model_sources
from unmess.core.errors.model_sources import add_model_file, source_text

MODULE = """
#place = loc("{secret}":1:1)
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {{
  %0 = arith.negf %x : tensor<4xf32> loc(#place)
  return %0 : tensor<4xf32>
}}
"""


@pytest.fixture(autouse=True)
def nothing_opened(monkeypatch):
    monkeypatch.setattr(model_sources, "_folders", set())


@pytest.fixture
def elsewhere(tmp_path):
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "secret.py").write_text("KEY = 'hunter2'\n")
    (folder / "secret.txt").write_text("hunter2\n")
    return folder


@pytest.mark.parametrize("name", ["secret.py", "secret.txt"])
@pytest.mark.parametrize("link", [False, True])
def test_analyze_does_not_copy_other_files(tmp_path, elsewhere, name, link, capsys):
    project = tmp_path / "project"
    project.mkdir()
    secret = elsewhere / name
    if link:
        secret = project / f"link-{name}"
        secret.symlink_to(elsewhere / name)
    model, page = project / "model.mlir", project / "page.html"
    model.write_text(MODULE.format(secret=secret))
    assert main(["analyze", str(model), "--html", str(page), "-q", "-v"]) == 0
    assert secret.name in page.read_text(), "the place itself is shown"
    assert "hunter2" not in page.read_text() + capsys.readouterr().out


def test_analyze_quotes_sources_beside_the_model(tmp_path):
    (tmp_path / "net.py").write_text("return -x  # the line\n")
    model, page = tmp_path / "model.mlir", tmp_path / "page.html"
    model.write_text(MODULE.format(secret=tmp_path / "net.py"))
    assert main(["analyze", str(model), "--html", str(page), "-q"]) == 0
    assert "# the line" in page.read_text()


def test_modules_of_this_process_are_quoted():
    assert source_text(f"{__file__}:1") == '"""' + sys.modules[__name__].__doc__ + '"""'


def test_other_file_types_beside_the_model_are_not_quoted(tmp_path):
    (tmp_path / "passwords.txt").write_text("hunter2\n")
    add_model_file(tmp_path / "model.mlir")
    assert source_text(f"{tmp_path / 'passwords.txt'}:1") == ""
    assert source_text(f"{tmp_path / 'missing.py'}:1") == ""
    assert source_text(None) == ""
