"""Compiled programs are kept between processes, and never taken for one another."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import unmess
from pipelines.reference.execution import compilation, object_cache

_MODEL = """
import torch

def looked_up(index, table):
    return torch.nn.functional.embedding(index, table) * {factor}

def model():
    return looked_up, (torch.tensor([1, 2]), torch.arange(12.0).reshape(3, 4))
"""
# Prints whether the program was compiled, what it computed, and what a failing check says.
_SCRIPT = """
import sys
import torch
import unmess
from pipelines.reference.execution import compilation

compiled = []
def compiling(*args, compile=compilation._compile):
    compiled.append(True)
    return compile(*args)
compilation._compile = compiling

table = torch.arange(12.0).reshape(3, 4)
run = unmess.load(unmess.capture(sys.argv[1]))
print(len(compiled), run(torch.tensor([2, 0]), table).tolist())
try:
    run(torch.tensor([3, 0]), table)
except unmess.Error as error:
    print(error.where, error.cause)
print(run(torch.tensor([1, 1]), table).tolist())
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("UNMESS_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("UNMESS_CACHE_MB", raising=False)
    return tmp_path / "cache" / "compiled"


@pytest.fixture
def compiled(monkeypatch):
    """The names of the programs that were compiled."""
    names = []
    compile = compilation._compile

    def compiling(module, assertions):
        names.append(module.name)
        return compile(module, assertions)

    monkeypatch.setattr(compilation, "_compile", compiling)
    return names


def test_a_second_process_does_not_compile(tmp_path):
    model = tmp_path / "model.py"
    model.write_text(_MODEL.format(factor=2))

    def in_process() -> list[str]:
        output = subprocess.run(
            [sys.executable, "-c", _SCRIPT, str(model)],
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        ).stdout
        return output.splitlines()

    first, second = in_process(), in_process()
    assert first[0] == "1 [[16.0, 18.0, 20.0, 22.0], [0.0, 2.0, 4.0, 6.0]]"
    assert second[0] == "0 [[16.0, 18.0, 20.0, 22.0], [0.0, 2.0, 4.0, 6.0]]"
    line = _MODEL.splitlines().index("def looked_up(index, table):") + 2
    assert first[1].startswith(f"{model}:{line} a check in the program failed")
    assert second[1:] == first[1:]


def scaled(factor):
    x = torch.arange(6.0)
    return unmess.lower(unmess.capture(lambda x: x * factor, (x,))), x


def test_a_changed_program_is_compiled(compiled):
    for factor, count in ((2, 1), (3, 2), (2, 2)):
        module, x = scaled(factor)
        assert torch.equal(unmess.load(module)(x), x * factor)
        assert len(compiled) == count


@pytest.mark.parametrize(
    "change",
    [
        lambda patch: patch.setattr(object_cache, "processor", lambda: "another"),
        lambda patch: patch.setattr(object_cache, "_COMPILER", "another"),
    ],
    ids=["processor", "compiler"],
)
def test_what_was_made_for_or_by_another_is_not_taken(compiled, monkeypatch, change):
    module, _ = scaled(2)
    unmess.load(module)
    change(monkeypatch)
    unmess.load(module)
    unmess.load(module)
    assert len(compiled) == 2


def test_a_damaged_file_is_compiled_again(compiled, folder):
    module, x = scaled(2)
    unmess.load(module)
    (file,) = folder.iterdir()
    file.write_bytes(file.read_bytes()[:-100])
    assert torch.equal(unmess.load(module)(x), x * 2)
    assert torch.equal(unmess.load(module)(x), x * 2)
    assert len(compiled) == 2


def test_a_size_of_zero_turns_it_off(compiled, folder, monkeypatch):
    monkeypatch.setenv("UNMESS_CACHE_MB", "0")
    module, x = scaled(2)
    for _ in range(2):
        assert torch.equal(unmess.load(module)(x), x * 2)
    assert len(compiled) == 2
    assert not folder.exists()


def test_a_name_that_this_process_lacks_is_compiled_again(compiled, monkeypatch):
    module, x = scaled(2)
    unmess.load(module)
    (key,) = [object_cache.compiled_key(module)]
    kept = object_cache.find(key)
    renamed = kept.object_code.replace(b"unmess_allocate", b"unmess_Allocate")
    assert renamed != kept.object_code
    object_cache.keep(key, object_cache.Compiled(renamed, kept.checks))
    assert torch.equal(unmess.load(module)(x), x * 2)
    assert len(compiled) == 2


def test_object_files_of_other_machines_run_from_the_jit(compiled, folder, monkeypatch):
    def foreign(_engine):
        return b"\x7fELF of another machine" + bytes(100)

    monkeypatch.setattr(compilation, "_object_file", foreign)
    module, x = scaled(2)
    for _ in range(2):
        assert torch.equal(unmess.load(module)(x), x * 2)
    assert len(compiled) == 2
    assert not folder.exists()


def test_executables_of_one_program_have_seeds_of_their_own(compiled):
    module = unmess.lower(unmess.capture(torch.rand_like, (torch.zeros(8),)))
    x = torch.zeros(8)
    first, second = unmess.load(module), unmess.load(module)
    assert len(compiled) == 1
    samples = [first(x), first(x)]
    assert not torch.equal(*samples)
    assert torch.equal(second(x), samples[0])


def test_the_command_shows_and_clears(folder):
    from click.testing import CliRunner

    from unmess.cli import cli

    unmess.load(scaled(2)[0])
    assert len(list(folder.iterdir())) == 1
    shown = CliRunner().invoke(cli, ["cache", "--json"], standalone_mode=False)
    assert f'"folder": "{folder}",\n      "files": 1' in shown.output
    CliRunner().invoke(cli, ["cache", "--clear"], standalone_mode=False)
    assert not folder.exists()
