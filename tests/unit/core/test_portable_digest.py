"""The digest of a module does not depend on where the project and its environment are installed."""

import io
import itertools
import os

import pytest
from torch_mlir import ir

from unmess.core.errors import portable_paths
from unmess.core.errors.portable_paths import local_path, portable_path
from unmess.core.module.bytecode_digest import BytecodeDigest

_TEXT = """
#called = loc(callsite("a.py":1:0 at "{path}":2:0))
module {{
  func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {{
    %0 = arith.constant dense_resource<data> : tensor<4xf32> loc("{path}":{line}:0)
    %1 = arith.{operation} %a, %0 {{note = "{note}"}} : tensor<4xf32> loc(#called)
    return %1 : tensor<4xf32>
  }}
}}
{{-# dialect_resources: {{ builtin: {{
  data: "0x40000000{data}000000010000000100000001000000"
}} }} #-}}
"""


def _bytecode(path, *, line=1, data="01", note="n", operation="addf"):
    file = io.BytesIO()
    with ir.Context() as context:
        context.allow_unregistered_dialects = True
        text = _TEXT.format(path=path, line=line, data=data, note=note, operation=operation)
        module = ir.Module.parse(text)
        module.operation.write_bytecode(file)
    return file.getvalue()


def _digest(bytecode, piece=1 << 20):
    digest = BytecodeDigest()
    for start in range(0, len(bytecode), piece):
        digest.write(bytecode[start : start + piece])
    return digest.hexdigest()


@pytest.fixture
def install(monkeypatch):
    """Returns a function that pretends that the project and its environment are in a folder."""

    def at(folder):
        folders = {"<environment>": f"{folder}/.venv/site/", "<project>": f"{folder}/"}
        monkeypatch.setattr(portable_paths, "_FOLDERS", folders)

    return at


@pytest.mark.parametrize("file", ["model.py", ".venv/site/torch/nn.py", "ü/a b.py"])
def test_checkouts_have_equal_digests(file, install):
    digests = set()
    # The lengths need one, two and three bytes in the bytecode.
    for folder in ("/a", f"/check/{'b' * 200}", f"/{'c' * 20_000}"):
        install(folder)
        digests.add(_digest(_bytecode(f"{folder}/{file}")))
    assert len(digests) == 1


def test_all_else_changes_the_digest(install):
    install("/a")
    different = [
        _bytecode("/a/model.py"),
        _bytecode("/a/other.py"),
        _bytecode("/b/model.py"),
        _bytecode("/a/.venv/site/model.py"),
        _bytecode("/a/model.py", line=2),
        _bytecode("/a/model.py", data="02"),
        _bytecode("/a/model.py", operation="subf"),
        _bytecode("/a/model.py", note="m"),
        _bytecode("/a/model.py", note="nn"),
        # The file name and the note together have the same letters in the same order.
        _bytecode("/a/model.p", note="yn"),
    ]
    assert len({_digest(each) for each in different}) == len(different)


@pytest.mark.parametrize("piece", [1, 2, 7, 100])
def test_pieces_do_not_matter(piece):
    bytecode = _bytecode("/a/model.py")
    assert _digest(bytecode, piece) == _digest(bytecode)


def test_a_file_in_another_format_is_digested_whole():
    contents = [b"", b"ML", b"MLIR", b"module {}\0", b"module {} \0"]
    assert all(_digest(a) != _digest(b) for a, b in itertools.combinations(contents, 2))


def test_a_path_comes_back(install):
    install("/here")
    for path in ("/here/a.py", "/here/.venv/site/a.py", "/elsewhere/a.py", "a.py", "", "<eval>"):
        assert local_path(portable_path(path)) == path
    moved = portable_path(f"/here/{os.path.join('models', 'a.py')}:3")
    install("/there")
    assert local_path(moved) == "/there/models/a.py:3"
