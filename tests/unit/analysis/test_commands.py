"""`unmess analyze` and `unmess view` of a file name the failed stage and support --debug."""

import json

import pytest

from pipelines import files
from pipelines.debugging import is_debugging
from unmess.__main__ import main

FILE = "func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> { return %a : tensor<4xf32> }"


@pytest.fixture
def file(tmp_path, monkeypatch):
    # `quiet_libraries` changes the whole process, which is pytest's here. Patch the command line's
    # own reference first: if a command imported that module later, it would keep the patch.
    monkeypatch.setattr("unmess.cli.cached.quiet_libraries", lambda: None)
    monkeypatch.setattr("unmess.core.errors.quiet.quiet_libraries", lambda pytorch: None)
    path = tmp_path / "model.mlir"
    path.write_text(FILE)
    return str(path)


@pytest.mark.parametrize("command", [["analyze"], ["view", "--no-browser"]], ids=lambda c: c[0])
def test_a_file_is_read_in_a_session(command, file, monkeypatch, capfd):
    debugging = []

    def broken(path):
        debugging.append(is_debugging())
        exec("raise ValueError('broken')")  # exec: this file counts as user code

    monkeypatch.setattr(files, "parse_file", broken)
    assert main([*command, file, "--debug", "--json"]) == 3
    document = json.loads(capfd.readouterr().out)
    assert (document["stage"], document["error"]) == (
        "source",
        "internal error: ValueError: broken",
    )
    assert debugging == [True]
