"""Tests loading object files into the memory of this process."""

import ctypes
import gc
from pathlib import Path

import pytest
import torch

import unmess
from pipelines.reference.execution import compilation
from pipelines.reference.execution.object_code import ObjectCode, Unloadable
from pipelines.reference.runtime import Runtime


@pytest.fixture(scope="module")
def object_file():
    """Returns the object file of a program with constants, a table and runtime calls."""
    files = []

    def spied(compiled):
        files.append(compiled.code)
        return loaded(compiled)

    loaded = compilation._Loaded
    program = unmess.capture(
        lambda i, table: torch.nn.functional.embedding(i, table).double().exp(),
        (torch.tensor([1]), torch.randn(3, 4)),
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compilation, "_Loaded", spied)
        patch.setenv("UNMESS_CACHE_MB", "0")
        unmess.load(program)
    return files[0]


def test_code_is_executable_and_not_writable(object_file):
    code = ObjectCode(object_file, Runtime.get().symbols)
    start = code.address("main")
    ranges = [line.split()[:2] for line in Path("/proc/self/maps").read_text().splitlines()]
    permissions = {
        permission
        for span, permission in ranges
        if int(span.split("-")[0], 16) <= start < int(span.split("-")[1], 16)
    }
    assert permissions == {"r-xp"}


def test_memory_is_released(object_file):
    def mapped() -> int:
        gc.collect()
        return Path("/proc/self/maps").read_text().count(" r-xp ")

    before = mapped()
    kept = [ObjectCode(object_file, Runtime.get().symbols) for _ in range(50)]
    during = mapped()
    del kept
    assert during >= before + 1
    assert mapped() <= before


def test_undefined_symbol_raises(object_file):
    with pytest.raises(Unloadable, match=r"refers to (unmess|_mlir)_"):
        ObjectCode(object_file, {})


def test_undefined_symbols_are_found_in_the_process(object_file):
    code = ObjectCode(object_file, Runtime.get().symbols)
    exp = ctypes.cast(ctypes.CDLL(None).exp, ctypes.c_void_p).value
    assert code.address("exp") == exp


@pytest.mark.parametrize("length", [0, 3, 64, 1000])
def test_truncated_files_are_rejected(object_file, length):
    with pytest.raises(Unloadable):
        ObjectCode(object_file[:length], Runtime.get().symbols)


def test_other_architectures_are_rejected(object_file):
    aarch64 = bytearray(object_file)
    aarch64[18] = 183
    with pytest.raises(Unloadable, match="the object file is not a relocatable file for x86-64"):
        ObjectCode(bytes(aarch64), Runtime.get().symbols)
