"""Writing to a full disk fails with one line and status 2, and keeps existing files."""

import json

import pytest
import torch

import unmess
from pipelines.iree.weight_files import write_archive
from unmess.__main__ import main

# The limit of file sizes in bytes: below the weights and texts, above the small model.
ROOM = 1 << 14


def network(width):
    return unmess.capture(torch.nn.Linear(width, width), (torch.ones(2, width),))


def files_in(folder):
    """Returns the content of each file, except the bytecode that Python writes beside a model."""
    files = [path for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc"]
    return {path: path.read_bytes() for path in files}


@pytest.fixture(autouse=True)
def no_cache(monkeypatch):
    monkeypatch.setenv("UNMESS_CACHE_MB", "0")
    monkeypatch.setenv("UNMESS_PROGRAMS_MB", "0")


@pytest.mark.parametrize("weights", ["external", "inline"])
@pytest.mark.parametrize("suffix", ["mlir", "mlirbc"])
def test_a_failed_export_keeps_the_earlier_files(tmp_path, small_files, weights, suffix):
    file = tmp_path / f"model.{suffix}"
    small = network(4)
    unmess.lower(small, weights=weights).save(file)
    before = files_in(tmp_path)
    assert len({path.stat().st_mode for path in before}) == 1
    module = unmess.lower(network(256), weights=weights)
    with small_files(ROOM), pytest.raises(unmess.Error, match="File too large") as caught:
        module.save(file)
    assert (caught.value.exit_status, str(file) in caught.value.cause) == (2, True)
    assert files_in(tmp_path) == before
    module.save(file)
    after = files_in(tmp_path)
    assert after.keys() == before.keys()
    assert all(after[path] != before[path] for path in before)


def test_a_bundle_is_whole_or_missing(tmp_path, monkeypatch):
    class Room:
        f_bavail, f_frsize = 1, 4096

    program = network(256)
    with monkeypatch.context() as patch:
        patch.setattr("pipelines.iree.weight_files.os.statvfs", lambda path: Room)
        with pytest.raises(unmess.Error, match="No space left on device") as caught:
            unmess.package(program, tmp_path / "bundle")
    assert (caught.value.exit_status, list(tmp_path.iterdir())) == (2, [])
    unmess.package(program, tmp_path / "bundle")
    assert len({path.stat().st_mode for path in files_in(tmp_path)}) == 1


def test_an_archive_of_weights_that_does_not_fit(tmp_path, small_files):
    with small_files(ROOM), pytest.raises(OSError, match="cannot write the archive"):
        write_archive(tmp_path / "weights.irpa", {"weight": torch.ones(256, 256)})


@pytest.mark.parametrize(
    "options",
    [("run", "--repeat", "0", "-o"), ("analyze", "--html"), ("import", "-o")],
    ids=lambda options: options[0],
)
def test_a_failed_command_keeps_the_earlier_file(tmp_path, small_files, capsys, options):
    source, file = tmp_path / "net.py", tmp_path / "out"
    source.write_text(
        "import torch\ndef model():\n    return torch.nn.Linear(256, 256), (torch.ones(64, 256),)\n"
    )
    file.write_text("earlier")
    command, *rest = options
    with small_files(ROOM):
        status = main([command, f"{source}:model", "-q", "--json", *rest, str(file)])
    printed = capsys.readouterr()
    assert (status, printed.err.splitlines()[0]) == (
        2,
        f"usage: cannot write {file}: File too large",
    )
    assert json.loads(printed.out)["stage"] == "usage"
    assert files_in(tmp_path) == {source: source.read_bytes(), file: b"earlier"}
    assert main([command, f"{source}:model", "-q", *rest, "/dev/full"]) == 2
    assert "cannot write /dev/full: No space left on device" in capsys.readouterr().err
