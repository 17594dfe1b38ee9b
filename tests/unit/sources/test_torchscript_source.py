"""Tests `file.pt` models, and the errors of invalid files."""

import random
import zipfile

import pytest
import torch
from click.testing import CliRunner

import unmess
from importers.sources import find_source
from importers.sources.example_inputs import parse_inputs
from unmess.cli import cli
from unmess.core.errors.error import Error

CONV = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU()).eval()


def fails(file) -> Error:
    with pytest.raises(Error) as caught:
        find_source(str(file))
    assert caught.value.stage == "source"
    assert caught.value.hint
    return caught.value


@pytest.fixture
def traced(tmp_path):
    path = tmp_path / "conv.pt"
    torch.jit.save(torch.jit.trace(CONV, (torch.randn(2, 3, 8, 9),), check_trace=False), path)
    return path


@pytest.fixture
def scripted(tmp_path):
    path = tmp_path / "linear.pt"
    torch.jit.save(torch.jit.script(torch.nn.Linear(3, 2)), path)
    return path


def rewritten(path, change):
    """Copies the archive with `change(name, content)` for each record; None omits the record."""
    copy = path.with_name(f"changed-{path.name}")
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(copy, "w") as new:
        for info in old.infolist():
            content = change(info.filename, old.read(info))
            if content is not None:
                new.writestr(info, content)
    return copy


def test_traced_file_has_its_example(traced):
    source = find_source(str(traced))
    assert source.name == "conv"
    assert [(x.shape, x.dtype) for x in source.args] == [((2, 3, 8, 9), torch.float32)]
    assert torch.equal(source.args[0], find_source(str(traced)).args[0])
    program = unmess.capture(str(traced))
    with torch.no_grad():
        expected = CONV(source.args[0])
        torch.testing.assert_close(program.exported.module()(source.args[0]), expected)
    assert any("example inputs are random" in str(note) for note in program.notes)


def test_scripted_file_needs_an_example(scripted):
    with pytest.raises(
        Error, match=r"holds no example inputs; its forward takes \(input: Tensor"
    ) as e:
        unmess.capture(str(scripted))
    assert "--input" in e.value.hint
    program = unmess.capture(str(scripted), (torch.ones(5, 3),))
    assert program.args[0].shape == (5, 3)
    assert any("set to evaluation mode" in str(note) for note in program.notes)


def test_input_option(scripted):
    command = ["import", str(scripted), "--to", "raw", "--input", "5x3xf32"]
    done = CliRunner().invoke(cli, command, standalone_mode=False)
    assert done.return_value == 0
    assert "!torch.vtensor<[5,3],f32>" in done.output


def test_exported_program_without_example(tmp_path):
    path = str(tmp_path / "linear.pt2")
    exported = torch.export.export(torch.nn.Linear(3, 4), (torch.ones(2, 3),))
    exported.example_inputs = None
    torch.export.save(exported, path)
    with pytest.raises(Error, match="has no example inputs"):
        unmess.capture(path)
    assert unmess.capture(path, (torch.ones(2, 3),)).args[0].shape == (2, 3)


def test_inputs_in_text(tmp_path):
    args, kwargs = parse_inputs(
        ["2x3xf32", "f64", "4xi64", "3", "0.5", "true", "mask=2xi1", "n=none"]
    )
    assert [(x.shape, x.dtype) for x in args[:3]] == [
        ((2, 3), torch.float32),
        ((), torch.float64),
        ((4,), torch.int64),
    ]
    assert args[3:] == (3, 0.5, True)
    assert kwargs["mask"].dtype == torch.bool
    assert kwargs["n"] is None


@pytest.mark.parametrize("texts", [["2x3"], ["2x3xf99"], ["x=1", "2"], ["no.npy"]])
def test_invalid_inputs_in_text(texts):
    with pytest.raises(Error) as caught:
        parse_inputs(texts)
    assert caught.value.stage == "usage"


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("1x999999999999xf32", "takes 4e+03 GB of memory"),
        ("4294967296x4294967296xf32", "do not fit into 64 bits"),
        ("4294967296x4294967296x0xf32", "do not fit into 64 bits"),
        ("9" * 5000 + "xf32", "do not fit into 64 bits"),
        ("2x" * 3000 + "f32", "has more than 64 dimensions"),
        ("-1x3xf32", "'-1x3xf32' is not an input"),
        (str(10**30), "does not fit into 64 bits"),
        (str(-(10**30)), "does not fit into 64 bits"),
        ("9" * 5000, "does not fit into 64 bits"),
        ("", "'' is not an input"),
    ],
    ids=lambda text: text[:20],
)
def test_inputs_of_absurd_sizes(text, cause):
    with pytest.raises(Error) as caught:
        parse_inputs([text])
    assert cause in caught.value.cause and len(caught.value.cause) < 200
    assert caught.value.exit_status == 2


def test_inputs_without_elements():
    (x, y), _ = parse_inputs(["0x3xf32", f"0x{10**15}xi8"])
    assert (x.shape, y.shape) == ((0, 3), (0, 10**15))


@pytest.mark.parametrize("content", [b"", b"\x93NUMPY", b"PK\x03\x04", b"hello"])
def test_an_array_file_that_is_damaged(tmp_path, content):
    path = tmp_path / "x.npy"
    path.write_bytes(content)
    with pytest.raises(Error, match="is not a NumPy array"):
        parse_inputs([str(path)])


def test_array_in_a_file(tmp_path):
    import numpy

    path = tmp_path / "x.npy"
    numpy.save(path, numpy.arange(3, dtype=numpy.int32))
    (x,), _ = parse_inputs([str(path)])
    assert x.tolist() == [0, 1, 2] and x.dtype == torch.int32


def test_missing_file(traced):
    assert fails(traced.with_name("cony.pt")).hint == f"did you mean {traced}?"


def test_state_dict(tmp_path):
    path = tmp_path / "weights.pth"
    torch.save(CONV.state_dict(), path)
    assert fails(path).cause == f"{path} holds 2 tensors and no model (a state dict)"


class Trap:
    """An object that creates a file when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (self.path, "w")


def test_pickled_module_is_not_unpickled(tmp_path):
    path = tmp_path / "model.pt"
    torch.save({"model": CONV, "trap": Trap(str(tmp_path / "sprung"))}, path)
    assert "is a pickled Python object (of" in fails(path).cause
    assert not (tmp_path / "sprung").exists()


def test_newer_version(traced):
    newer = rewritten(traced, lambda n, c: b"99\n" if n.endswith("/version") else c)
    assert "written by a newer PyTorch" in fails(newer).cause


def test_missing_code(traced):
    without = rewritten(
        traced, lambda n, c: c.replace(b".Conv2d", b".Gone") if n.endswith(".py") else c
    )
    cause = fails(without).cause
    assert cause.startswith(f"{without} lacks the code of __torch__.torch.nn.modules.conv.")
    assert cause.endswith(".Gone")


def test_unknown_operator(traced):
    other = rewritten(
        traced, lambda n, c: c.replace(b"torch.relu", b"ops.a.relu") if n.endswith(".py") else c
    )
    assert "calls an unknown operator" in fails(other).cause


def test_missing_record(traced):
    without = rewritten(traced, lambda n, c: None if n.endswith("data/0") else c)
    assert "is damaged" in fails(without).cause


@pytest.mark.parametrize("content", [b"", b"hello", b"PK\x03\x04 cut off", b"\x80\x02}q\x00"])
def test_other_content(tmp_path, content):
    path = tmp_path / "file.pt"
    path.write_bytes(content)
    error = fails(path)
    assert "is not a PyTorch file, or is damaged" in error.cause
    assert error.__cause__ is not None, "what reading it has raised is for -v"


@pytest.mark.parametrize("seed", range(40))
def test_a_damaged_archive(traced, seed):
    """The damage is in the directory at the end, which Python's zip reader trusts."""
    content = bytearray(traced.read_bytes())
    for position in random.Random(seed).sample(range(len(content) - 400, len(content)), 6):
        content[position] ^= 0xFF
    traced.write_bytes(content)
    try:
        find_source(str(traced))
    except Error as error:
        assert error.stage == "source"


def test_half_a_file(traced):
    content = traced.read_bytes()
    traced.write_bytes(content[: len(content) // 2])
    assert "is not a PyTorch file, or is damaged" in fails(traced).cause
